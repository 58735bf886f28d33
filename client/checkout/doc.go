// Package checkout keeps a directory as a working copy of a project: Pull merges what the server
// has into the directory, Push publishes what was changed in it, Status says what differs.
//
// There are no local commits and no branches; git has those. The directory has, in .pws/local,
// the file base.json: the changeset that the directory was last made equal to, and the hash of
// each of its files. What differs from it was changed here. A pull that finds a file equal on
// both sides takes it as it is, so a push whose answer was lost needs no repair.
//
// The writes of a pull are prepared in .pws/local/staged and listed in journal.json BEFORE the
// first of them; each one is a rename. A pull that was killed is completed by the next command,
// which reports what it has done: the journal has the result, too.
// A push writes its request to push.json BEFORE sending it. If its outcome is unknown, the next
// command of the same agent sends the same request again, with the same key. It does not if files
// have changed since: then lost.json keeps the hashes of what may have been published, until there
// is another base, so that a pull does not take that for someone else's change. The same is noted
// of files that another operation publishes, such as a checkpoint. A contribution is written in a
// workspace that contribute.json names for its agent, so that the next one is another revision of
// it. The files journal.json, push.json and contribute.json have a code of this user
// (Options.Secret): those that came with someone else's repository have no effect.
//
// All paths are opened below an os.Root. Symbolic links are neither followed nor replaced. Files
// that cannot be kept, such as binary ones, are left out and named, and so is what cannot be read.
// Where the project has such a file it is no deletion, but stops a push. Paths of the server that
// must not be written, such as .git/config, are left out too: the base has them with the reason.
package checkout
