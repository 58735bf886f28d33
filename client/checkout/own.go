package checkout

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The files journal.json, push.json and contribute.json are orders to write files and to publish.
// Someone else's repository may bring files of these names, so they have a code that only programs
// of this user can make. What has no such code is removed and not carried out: a pull or a push
// that has lost its file is made again.

// signed is the content of such a file, and its code: the HMAC-SHA-256, hexadecimal.
type signed struct {
	Code    string         `json:"code"`
	Content jsontext.Value `json:"content"`
}

// code returns the code of a content in the file of a name.
func (t *Tree) code(name string, content []byte) (string, error) {
	var secret []byte
	if t.secret != nil {
		var err error
		if secret, err = t.secret(); err != nil {
			return "", err
		}
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(name))
	mac.Write([]byte{0})
	mac.Write(content)
	return hex.EncodeToString(mac.Sum(nil)), nil
}

// writeOrder is writeJSON with a code.
func (t *Tree) writeOrder(name string, value any) error {
	content, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		return err
	}
	code, err := t.code(name, content)
	if err != nil {
		return err
	}
	return t.writeJSON(name, signed{code, content})
}

// readOrder decodes what writeOrder has written. It removes anything else.
func (t *Tree) readOrder(name string, into any) (exists bool, err error) {
	var read signed
	exists, err = t.readJSON(name, &read)
	if err != nil || !exists {
		return exists, err
	}
	code, err := t.code(name, read.Content)
	if err != nil {
		return false, err
	}
	if !hmac.Equal([]byte(read.Code), []byte(code)) {
		return false, t.remove(name)
	}
	return true, json.Unmarshal(read.Content, into)
}
