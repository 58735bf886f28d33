package cli

import "io/fs"

// ownedByCaller is true: folders of other users cannot be written to by default.
func ownedByCaller(info fs.FileInfo) bool { return ownedBy(info, 0) }

func ownedBy(fs.FileInfo, int) bool { return true }
