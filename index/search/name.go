package search

import (
	"path"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// The names of a document are stored as terms with a prefix that no word begins with. The frequency
// of such a term is what it adds to the score.
const (
	nameMark  = "\x01n"
	exactMark = "\x01e"
)

// isMarked reports whether a term belongs to a name.
func isMarked(term string) bool { return term != "" && term[0] == nameMark[0] }

const (
	// nameUnit is the score of each word of a name, and nameShare a score shared by all words of a
	// name, so that a short name ranks before a long one. Folders and extensions score less.
	nameUnit, nameShare             = 10, 24
	nameFolder, nameExtension       = 6, 2
	exactPath, exactBase, exactStem = 980, 900, 600
	// exactDepth is the deduction for each folder, for at most exactDeep folders.
	exactDepth, exactDeep = 10, 20
	// exactBytesMax is the maximum length of a name that is stored unhashed.
	exactBytesMax = 48
)

// nameWeights are the additional scores by kind: of a word in the name, and of a name equal to the
// query.
var nameWeights = map[Kind]struct{ word, exact int }{
	Project: {12, 1000}, Agent: {10, 990}, Task: {4, 970}, Artifact: {4, 970},
	Discussion: {4, 970}, Handoff: {0, 950},
}

// exactKey returns a key that equal names share: their folded words without separators.
func exactKey(name string) []byte {
	key := make([]byte, 0, exactBytesMax)
	for found := (scanner{text: name}); found.next(); {
		for word := range strings.SplitSeq(name[found.start:found.end], "_") {
			key = appendFolded(key, word)
		}
	}
	if len(key) > exactBytesMax {
		sum := xxhash.New()
		_, _ = sum.Write(key)
		key = sum.Sum(key[:exactBytesMax-8])
	}
	return key
}

// eachName yields the terms of the names of a document, and the score of each. The bytes are valid
// until the next call.
func (d *Document) eachName(room *termRoom, yield func(mark string, term []byte, adds int)) {
	exact := func(name string, adds int) {
		if key := exactKey(name); len(key) > 0 {
			yield(exactMark, key, adds)
		}
	}
	words := func(text string, adds int) {
		eachTerm(room, text, func(term []byte) { yield(nameMark, term, adds) })
	}
	if d.Key.Kind != File {
		weight := nameWeights[d.Key.Kind]
		exact(d.Title, weight.exact)
		words(d.Title, nameUnit+weight.word+nameShare/max(1, wordCount(d.Title)))
		return
	}
	folder, base := path.Split(d.Title)
	extension := path.Ext(base)
	stem := strings.TrimSuffix(base, extension)
	if stem == "" {
		stem, extension = base, ""
	}
	deep := exactDepth * min(strings.Count(folder, "/"), exactDeep)
	exact(d.Title, exactPath)
	exact(folder+stem, exactPath-exactDepth)
	parent := path.Base(folder) + "/"
	exact(parent+base, exactBase+exactDepth-deep)
	exact(parent+stem, exactBase-deep)
	exact(base, exactBase-deep)
	exact(stem, exactStem-deep)
	words(stem, nameUnit+nameShare/max(1, wordCount(stem)))
	words(folder, nameFolder)
	words(extension, nameExtension)
}

// wordCount returns the number of words in a name, where the parts of a compound word count
// separately.
func wordCount(name string) (count int) {
	for found := (scanner{text: name}); found.next(); {
		if word := name[found.start:found.end]; simple(word) {
			count++
		} else {
			before := count
			parts(word, func(string) { count++ })
			count = max(count, before+1)
		}
	}
	return count
}
