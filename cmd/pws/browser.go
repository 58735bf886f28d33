package main

import (
	"os/exec"
	"runtime"
)

// openURL shows a page in the browser of the person who runs the program.
func openURL(url string) error {
	command := []string{"xdg-open"}
	switch runtime.GOOS {
	case "darwin":
		command = []string{"open"}
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	return exec.Command(command[0], append(command[1:], url)...).Start()
}
