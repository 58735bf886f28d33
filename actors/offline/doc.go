// Package offline works on data directories from outside a server: it checks them (Verify), copies
// them (Copy) and lists the reports of abuse (Reports).
//
// Copy and Reports read while a server may be running. They take no lock. What the server removes
// meanwhile makes them begin again. Verify keeps servers away, and changes nothing: stores that
// remove what interrupted runs have left are opened in folders of links.
//
// Verify has two halves. The stores check their own files, and Verify checks that they join without
// a gap. Then every state is rebuilt, and all that it names is looked up: agents, contents,
// changesets, sources of forks, inbox items, cards. Rebuilding a state is the engine's work, so
// that verify and a start cannot differ in what they accept. The engine imports this package and
// passes in a Rebuilder.
package offline
