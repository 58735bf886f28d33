package main

// keepPrivate does nothing: files have no mode.
func keepPrivate() {}
