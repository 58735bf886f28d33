package work

import "crypto/sha256"

// removedKind is the second byte of a mark. The first is that of manifests, which no text of a
// caller contains.
const removedKind = 'x'

// RemovedMark is the content that a project stores in place of one that was removed before the
// project was imported: two bytes and the hash of the removed content.
func RemovedMark(of Hash) Blob {
	content := append([]byte{treeMark, removedKind}, of[:]...)
	return Blob{Hash: sha256.Sum256(content), Content: content}
}

// RemovedContent returns the hash of the removed content; false if the content is not a mark.
func RemovedContent(content []byte) (Hash, bool) {
	if len(content) != 2+len(Hash{}) || content[0] != treeMark || content[1] != removedKind {
		return Hash{}, false
	}
	return Hash(content[2:]), true
}
