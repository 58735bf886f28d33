package replay

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// The limits of the service on the contents of a repository.
const (
	fileBytesMax      = 1 << 20
	filesMax          = 5000
	pathBytesMax      = 512
	segmentBytesMax   = 255
	pathDepthMax      = 32
	operationsMax     = 100
	messageCharsMax   = 4000
	requestBytesAimed = 8 << 20
)

// reason says why a file of the repository is left out; empty means that it is served.
type reason string

const (
	accepted         reason = ""
	reasonSymlink    reason = "symbolic link"
	reasonSubmodule  reason = "submodule"
	reasonPath       reason = "path is not canonical"
	reasonLarge      reason = "larger than 1 MiB"
	reasonBinary     reason = "holds a NUL byte"
	reasonEncoding   reason = "is not UTF-8"
	reasonTooMany    reason = "beyond 5000 files"
	gitModeSymlink          = "120000"
	gitModeSubmodule        = "160000"
)

// hash is the SHA-256 of a file's content, the blob_hash of the service.
type hash [sha256.Size]byte

func (h hash) String() string { return fmt.Sprintf("%x", h[:]) }

// verdict is the classification of the content of a git object.
type verdict struct {
	reason reason
	hash   hash
}

// classifyPath classifies a file by name and mode alone.
func classifyPath(path, mode string) reason {
	switch mode {
	case gitModeSymlink:
		return reasonSymlink
	case gitModeSubmodule:
		return reasonSubmodule
	}
	if len(path) == 0 || len(path) > pathBytesMax || !utf8.ValidString(path) ||
		!norm.NFC.IsNormalString(path) || strings.Count(path, "/") >= pathDepthMax {
		return reasonPath
	}
	for _, r := range path {
		if r < 0x20 || r == 0x7f || r == '\\' {
			return reasonPath
		}
	}
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "" || segment == "." || segment == ".." || len(segment) > segmentBytesMax {
			return reasonPath
		}
	}
	return accepted
}

// classifyContent classifies by content. A nil content with a size above the limit was not read.
func classifyContent(size int64, content []byte) verdict {
	switch {
	case size > fileBytesMax:
		return verdict{reason: reasonLarge}
	case bytes.IndexByte(content, 0) >= 0:
		return verdict{reason: reasonBinary}
	case !utf8.Valid(content):
		return verdict{reason: reasonEncoding}
	}
	return verdict{hash: sha256.Sum256(content)}
}

// classifier remembers verdicts by object and caches recent contents, so that an object is rarely
// read twice.
type classifier struct {
	objects  *objects
	verdicts map[string]verdict
	held     map[string][]byte
	// heldBytes is the size of the cached contents.
	heldBytes int
}

// heldBytesMax bounds the contents that are cached between classifying and encoding a commit.
const heldBytesMax = 32 << 20

func newClassifier(objects *objects) *classifier {
	return &classifier{
		objects: objects, verdicts: map[string]verdict{}, held: map[string][]byte{},
	}
}

// file classifies one file of a tree.
func (c *classifier) file(path, mode, oid string) (verdict, error) {
	if why := classifyPath(path, mode); why != accepted {
		return verdict{reason: why}, nil
	}
	if known, found := c.verdicts[oid]; found {
		return known, nil
	}
	_, content, err := c.readBlob(oid)
	if err != nil {
		return verdict{}, err
	}
	if c.heldBytes+len(content) <= heldBytesMax && c.verdicts[oid].reason == accepted {
		c.held[oid] = content
		c.heldBytes += len(content)
	}
	return c.verdicts[oid], nil
}

func (c *classifier) readBlob(oid string) (verdict, []byte, error) {
	kind, size, content, err := c.objects.read(oid, fileBytesMax)
	if err != nil {
		return verdict{}, nil, err
	}
	if kind != "blob" {
		return verdict{}, nil, fmt.Errorf("git cat-file: %s is a %s, not a blob", oid, kind)
	}
	result := classifyContent(size, content)
	c.verdicts[oid] = result
	return result, content, nil
}

// content returns the content of an object and reads it again if it is not cached.
func (c *classifier) content(oid string) ([]byte, error) {
	if content, found := c.held[oid]; found {
		return content, nil
	}
	_, content, err := c.readBlob(oid)
	return content, err
}

// forget drops the cached contents.
func (c *classifier) forget() {
	clear(c.held)
	c.heldBytes = 0
}
