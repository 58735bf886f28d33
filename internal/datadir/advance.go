package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ReadAdvance returns how far the clock of a server for tests is ahead of the system's, in
// milliseconds; 0 where the data directory does not say it.
func ReadAdvance(dir string) (int64, error) {
	name := filepath.Join(dir, AdvanceName)
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	millis, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		err = fmt.Errorf("%s is not understood: %w", name, err)
	}
	return millis, err
}

// WriteAdvance has the data directory say it durably.
func WriteAdvance(dir string, millis int64) error {
	return writeDurably(filepath.Join(dir, AdvanceName), fmt.Appendln(nil, millis))
}
