package search

import (
	"strings"
	"sync"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/lang/cs"
	"github.com/blevesearch/bleve/v2/analysis/lang/da"
	"github.com/blevesearch/bleve/v2/analysis/lang/de"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/analysis/lang/es"
	"github.com/blevesearch/bleve/v2/analysis/lang/fi"
	"github.com/blevesearch/bleve/v2/analysis/lang/fr"
	"github.com/blevesearch/bleve/v2/analysis/lang/hu"
	"github.com/blevesearch/bleve/v2/analysis/lang/it"
	"github.com/blevesearch/bleve/v2/analysis/lang/nl"
	"github.com/blevesearch/bleve/v2/analysis/lang/no"
	"github.com/blevesearch/bleve/v2/analysis/lang/pt"
	"github.com/blevesearch/bleve/v2/analysis/lang/ro"
	"github.com/blevesearch/bleve/v2/analysis/lang/ru"
	"github.com/blevesearch/bleve/v2/analysis/lang/sv"
	"github.com/blevesearch/bleve/v2/analysis/lang/tr"
)

// stopLists are the stop words of each language, folded. English is the first.
var stopLists = sync.OnceValue(func() (lists []map[string]bool) {
	for _, source := range [][]byte{
		en.EnglishStopWords, de.GermanStopWords, fr.FrenchStopWords, es.SpanishStopWords,
		pt.PortugueseStopWords, it.ItalianStopWords, nl.DutchStopWords, da.DanishStopWords,
		sv.SwedishStopWords, no.NorwegianStopWords, fi.FinnishStopWords,
		cs.CzechStopWords, hu.HungarianStopWords, ro.RomanianStopWords, ru.RussianStopWords,
		tr.TurkishStopWords,
	} {
		words, list := analysis.NewTokenMap(), map[string]bool{}
		// Reading from memory cannot fail.
		_ = words.LoadBytes(source)
		for word := range words {
			// A contraction is several words here: don't is split into don and t.
			for found := (scanner{text: strings.TrimSpace(word)}); found.next(); {
				list[string(appendFolded(nil, found.text[found.start:found.end]))] = true
			}
		}
		lists = append(lists, list)
	}
	return lists
})

// foreignMin is the number of stop words of a language other than English that identify a query as
// being in that language. A single one may be a name, such as C, or an English word, such as "war".
const foreignMin = 2

// stopWords returns the stop words of the language in which the most words are stop words, nil if
// there is no such language.
func stopWords(words []string) (best map[string]bool) {
	most := 0
	for i, list := range stopLists() {
		count := 0
		for _, word := range words {
			if list[word] {
				count++
			}
		}
		if count > most && (i == 0 || count >= foreignMin) {
			best, most = list, count
		}
	}
	return best
}
