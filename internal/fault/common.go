package fault

// Refusals that several packages make. Each has one text wherever it is made.

// NoProject is PROJECT_NOT_FOUND: there is none, or the caller may not know of it.
func NoProject() *Error { return New(ProjectNotFound, "There is no such project.") }

// NoAgent is AGENT_NOT_FOUND.
func NoAgent() *Error { return New(AgentNotFound, "There is no such agent.") }

// NoChangeset is CHANGESET_NOT_FOUND in a project that the caller may see.
func NoChangeset() *Error {
	return New(ChangesetNotFound, "The project has no such changeset.")
}

// Stopping is SHUTTING_DOWN: a request that comes a second later meets the server that follows, or
// another member.
func Stopping() *Error {
	return New(ShuttingDown, "The server is stopping.").With("retry_after_seconds", 1)
}
