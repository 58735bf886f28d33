package work

// The limits of a project. They are published with the capability model.
const (
	FileBytesMax           = 1 << 20
	FilesMax               = 5000
	OperationsMax          = 100
	MessageCharsMax        = 4000
	NameCharsMax           = 120
	DescriptionCharsMax    = 4000
	TopicsMax              = 20
	DiffCharsMax           = 200_000
	ChangedPathsMax        = 200
	CommunityFilesMax      = 100
	IdempotencyKeyBytesMax = 255
	IdempotencySeconds     = 604_800
	MembersMax             = 1000
)
