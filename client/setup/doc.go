// Package setup knows the settings of the hosts of agents: where each has the list of its MCP
// servers and its hooks, and how an entry is put into them and taken out again.
//
// An edit changes the text of a file and keeps all else in it byte for byte: other entries,
// comments, indentation, trailing commas. An edit that finds its entry as it should be changes
// nothing, and removing an entry gives the text that was there before. Nothing here reads or writes
// a file.
package setup
