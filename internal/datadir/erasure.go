package datadir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"pws/internal/id"
)

// Erasure is what a data directory says about contents that leave the disks: those of removed
// projects, and those of imports that have made none.
type Erasure struct {
	// Due says that contents may be there which other members of the group have dropped. A backup of
	// a member has it, too, and so has one that has left its group.
	Due bool `json:"due"`
	// Dropped are the projects whose contents this server has dropped itself, the last time that it
	// led in the meantime.
	Dropped []id.ID `json:"dropped,omitempty"`
	// GivenUp are hashes of contents of failed imports, one behind the other. What no project names of
	// them has to be dropped here.
	GivenUp []byte `json:"given_up,omitempty"`
}

// ReadErasure returns what the data directory says; nothing is due where it says nothing.
func ReadErasure(dir string) (e Erasure, err error) {
	name := filepath.Join(dir, ErasureName)
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return e, nil
	}
	if err == nil {
		if err = json.Unmarshal(text, &e); err != nil {
			err = fmt.Errorf("%s is not understood: %w", name, err)
		}
	}
	return e, err
}

// Write has the data directory say it durably.
func (e Erasure) Write(dir string) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return writeDurably(filepath.Join(dir, ErasureName), append(text, '\n'))
}
