//go:build unix

package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pws/internal/datadir"
)

// What root would write into the data of another user, that one could not use. So root is refused,
// and nothing is changed.
func TestDataOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files to others")
	}
	const other = 54321
	dir := filepath.Join(t.TempDir(), "data")
	if err := datadir.Prepare(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, datadir.LogName), 0o700); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		if err == nil {
			err = os.Chown(name, other, other)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"serve", "--listen", "127.0.0.1:0"}, {"reindex"}, {"cluster", "leave"},
		{"reports", "--handle", "rpt_01m8ajds002ycebvb87gpd4858"},
	} {
		var out, errs bytes.Buffer
		code := run(append(args, "--data", dir), &out, &errs)
		if code == 0 || !strings.Contains(errs.String(), "sudo -u '#54321' pws") {
			t.Errorf("%v: %d, %s%s", args, code, out.String(), errs.String())
		}
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(names) != 2 {
		t.Errorf("%v, %v", names, err)
	}
	if err := os.Chown(filepath.Join(dir, datadir.FormatName), 0, 0); err != nil {
		t.Fatal(err)
	}
	if err := datadir.RequireOwner(dir); err != nil {
		t.Errorf("its own data: %v", err)
	}
}
