//go:build unix

package cli

import (
	"io/fs"
	"os"
	"syscall"
)

// ownedByCaller reports whether a file belongs to who runs the program, or to root. Root takes the
// files of everybody: in a container it works on those of a user outside.
func ownedByCaller(info fs.FileInfo) bool { return ownedBy(info, os.Geteuid()) }

func ownedBy(info fs.FileInfo, user int) bool {
	found, known := info.Sys().(*syscall.Stat_t)
	return !known || user == 0 || found.Uid == 0 || int(found.Uid) == user
}
