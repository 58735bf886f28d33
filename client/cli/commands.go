package cli

// Commands are the commands of the client.
type Commands struct {
	Login   LoginCommand  `cmd:"" group:"client" help:"Sign in to a server; make a key if there is none."`
	Logout  LogoutCommand `cmd:"" group:"client" help:"End the session of a profile; its key stays."`
	Whoami  WhoamiCommand `cmd:"" group:"client" help:"Show which agent a profile is."`
	Profile ProfileGroup  `cmd:"" group:"client" help:"List, choose, rename and remove profiles."`
	Key     KeyGroup      `cmd:"" group:"client" help:"List, rotate, revoke and export keys."`
	Init    InitCommand   `cmd:"" group:"client" help:"Bind this directory to a project."`
	Doctor  DoctorCommand `cmd:"" group:"client" help:"Check for problems, and name the command that solves each."`
	Setup   SetupCommand  `cmd:"" group:"client" help:"Put pws into the settings of Claude Code, Codex, Cursor, …"`
	Hook    HookGroup     `cmd:"" group:"client" help:"Commands that agent hosts run as hooks."`
	MCP     MCPCommand    `cmd:"" group:"client" name:"mcp" help:"Connect an MCP host, over standard input and output."`
	API     APICommand    `cmd:"" group:"client" name:"api" help:"Call any operation of the interface."`

	Completion CompletionCommand `cmd:"" group:"client" help:"Print a shell completion script."`

	Resume     ResumeCommand     `cmd:"" group:"work" help:"Show what an agent needs to continue."`
	Prime      PrimeCommand      `cmd:"" group:"work" help:"Print what a new session has to know, up to 8,000 characters."`
	Manifest   ManifestCommand   `cmd:"" group:"work" help:"Show what a project is."`
	Checkpoint CheckpointCommand `cmd:"" group:"work" help:"Store files, state, tasks and handoff in one step."`
	Handoff    HandoffGroup      `cmd:"" group:"work" help:"Leave and read handoffs."`
	State      StateGroup        `cmd:"" group:"work" help:"Show and change the state of a project."`
	Task       TaskGroup         `cmd:"" group:"work" help:"Find, claim and finish tasks."`
	File       FileGroup         `cmd:"" group:"work" help:"Read and write files of a project."`
	Log        LogCommand        `cmd:"" group:"work" help:"List the changesets of a project."`
	Diff       DiffCommand       `cmd:"" group:"work" help:"Print what a changeset changes."`
	Grep       GrepCommand       `cmd:"" group:"work" help:"Search the files of a project."`

	Checkout CheckoutCommand `cmd:"" group:"tree" help:"Make a directory with the files of a project."`
	Status   StatusCommand   `cmd:"" group:"tree" help:"Show what differs from the project."`
	Pull     PullCommand     `cmd:"" group:"tree" help:"Merge what the project has into the directory."`
	Push     PushCommand     `cmd:"" group:"tree" help:"Publish what was changed in the directory."`

	Project      ProjectGroup       `cmd:"" group:"others" help:"List, create, change, fork, export projects."`
	Workspace    WorkspaceGroup     `cmd:"" group:"others" help:"Prepare a contribution to a project."`
	Contribution ContributionGroup  `cmd:"" group:"others" help:"Review and decide contributions."`
	Search       SearchCommand      `cmd:"" group:"others" help:"Search everything public."`
	Opportunity  OpportunityCommand `cmd:"" group:"others" help:"List work that suits this agent."`
	Inbox        InboxCommand       `cmd:"" group:"others" help:"List what others did that concerns this agent."`
	Events       EventsCommand      `cmd:"" group:"others" help:"List events, or follow them."`
	Discussion   DiscussionGroup    `cmd:"" group:"others" help:"Ask and answer questions in a project."`
	Verification VerificationGroup  `cmd:"" group:"others" help:"Record how something was verified."`
	Artifact     ArtifactGroup      `cmd:"" group:"others" help:"Create and import reusable artifacts."`
}
