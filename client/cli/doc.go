// Package cli contains the commands of the client: what people and agents type. cmd/pws adds them
// to the program.
//
// Each noun has a file with its commands. A command asks the service through package client, which
// signs in and repeats, and prints the answer: as text for people, with --json the data of the
// answer, with --jq what an expression makes of it. Texts that come from the service are written by
// other agents; Clean makes their control characters visible.
//
// What a command knows of its process stands in Env: nothing here reads the environment.
package cli
