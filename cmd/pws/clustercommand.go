package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"pws/cluster"
	"pws/internal/datadir"
	"pws/internal/fault"
	"pws/internal/logformat"
	"pws/journal/replica"
)

// ClusterCommand has what operators do with a group of servers.
type ClusterCommand struct {
	Init     ClusterInitCommand     `cmd:"" help:"Make the certificates and the secret of a new group."`
	Key      ClusterKeyCommand      `cmd:"" help:"Make the certificate of another member."`
	Status   ClusterStatusCommand   `cmd:"" help:"Show the members, which one leads, and which ones lag."`
	Add      ClusterAddCommand      `cmd:"" help:"Add a member, which votes when it has caught up."`
	Join     ClusterJoinCommand     `cmd:"" help:"Create the data directory of a new member."`
	Remove   ClusterRemoveCommand   `cmd:"" help:"Remove a member permanently."`
	Transfer ClusterTransferCommand `cmd:"" help:"Transfer leadership to another member."`
	Leave    ClusterLeaveCommand    `cmd:"" help:"Turn a member's data into that of a single server."`
}

// ClusterInitCommand makes a private authority.
type ClusterInitCommand struct {
	Dir     string `required:"" help:"Folder to make; it gets a folder for each member."`
	Members int    `default:"3" help:"How many members the group begins with: 3 or 5."`
	Data    string `help:"Data directory of the single server that the members are copied from."`
}

// Run makes the folders and says where each belongs.
func (c *ClusterInitCommand) Run(out io.Writer) error {
	if c.Members != 3 && c.Members != 5 {
		return errors.New("a group begins with 3 or 5 members")
	}
	var secret []byte
	if c.Data != "" {
		var err error
		if secret, err = datadir.SecretText(c.Data); err != nil {
			return err
		}
	}
	var numbers []uint64
	for number := range uint64(c.Members) {
		numbers = append(numbers, number+1)
	}
	if err := cluster.MakeAuthority(c.Dir, numbers, secret, time.Now()); err != nil {
		return err
	}
	fmt.Fprintf(out, "made %s/authority: keep it apart from the servers; it makes the keys of later "+
		"members\n", c.Dir)
	for _, number := range numbers {
		fmt.Fprintf(out, "made %s/member-%d: for --cluster-keys of member %d, on its machine alone\n",
			c.Dir, number, number)
	}
	return nil
}

// ClusterKeyCommand makes the folder of another member.
type ClusterKeyCommand struct {
	Dir    string `required:"" help:"Folder that pws cluster init has made."`
	Member uint64 `arg:"" help:"Number of the member; it must never have been used."`
}

// Run makes the folder.
func (c *ClusterKeyCommand) Run(out io.Writer) error {
	if c.Member == 0 {
		return errors.New("numbers begin with 1")
	}
	if err := cluster.AddMember(c.Dir, c.Member, time.Now()); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "made %s/member-%d\n", c.Dir, c.Member)
	return err
}

// ClusterStatusCommand asks a member what it knows of its group.
type ClusterStatusCommand struct {
	Data string `default:"./data" help:"Data directory of a running member."`
	JSON bool   `name:"json" help:"Print the answer as JSON."`
}

// clusterStatus is what members know of their group.
type clusterStatus struct {
	Member  uint64          `json:"member"`
	Leader  uint64          `json:"leader"`
	Members []clusterMember `json:"members"`
}

// clusterMember is one member, as it has answered.
type clusterMember struct {
	Number  uint64 `json:"number"`
	Address string `json:"address"`
	Voter   bool   `json:"voter"`
	// ClockMillis is how far ahead its clock is of that of the member that was asked.
	ClockMillis int64 `json:"clock_millis"`
	// Fault says why it has not answered; the rest is empty then.
	Fault string `json:"fault,omitempty"`
	replica.Status
}

type clusterNothing struct{}

var _ = registerAction("cluster-status", func(on adminTarget, _ *clusterNothing) (any, error) {
	if on.group == nil {
		return nil, errSingleServer()
	}
	own := on.group.Status()
	status := clusterStatus{Member: own.Member, Leader: own.Leader}
	clocks := on.group.ClocksAhead()
	for _, one := range on.group.Ask() {
		asked := clusterMember{
			Number: one.Number, Address: one.Address, Voter: one.Voter, Status: one.Status,
			ClockMillis: clocks[one.Number].Milliseconds(),
		}
		if one.Err != nil {
			asked.Fault = one.Err.Error()
		}
		status.Members = append(status.Members, asked)
	}
	if !replica.Listed(own.Members, own.Member) {
		self := on.group.Self()
		status.Members = append(status.Members, clusterMember{
			Number: self.Number, Address: self.Address, Status: own,
		})
	}
	return status, nil
})

func errSingleServer() error {
	return fault.New(fault.ValidationFailed,
		"this server is not a member of a group (it runs without --cluster)")
}

// Run prints one line for each member.
func (c *ClusterStatusCommand) Run(out io.Writer) error {
	admin := &AdminCommand{Data: c.Data, JSON: c.JSON}
	return runAdminCommand(admin, out, "cluster-status", clusterNothing{}, printClusterStatus)
}

func printClusterStatus(status *clusterStatus) string {
	newest := uint64(0)
	for _, one := range status.Members {
		newest = max(newest, one.Position)
	}
	var text strings.Builder
	unadded := ""
	fmt.Fprintf(&text, "%-8s%-24s%-10s%10s%12s%10s%10s%8s%8s  %s\n", "member", "address", "role",
		"term", "entries", "behind", "clock ms", "format", "knows", "program")
	for _, one := range status.Members {
		role := "follows"
		switch {
		case one.Fault != "":
			fmt.Fprintf(&text, "%-8d%-24s%s\n", one.Number, one.Address, one.Fault)
			continue
		case one.Removed:
			role = "removed"
		case one.Leader == 0 && !replica.Listed(one.Status.Members, one.Number):
			role = "not added"
			unadded += fmt.Sprintf("member %d was not added: on a member that is, run pws cluster add "+
				"%d=%s\n", one.Number, one.Number, one.Address)
		case one.Reign != 0:
			role = "leads"
		case one.Leader == 0:
			role = "waits"
		case !one.Voter:
			role = "learns"
		}
		// Programs that understand only the first format say neither.
		fmt.Fprintf(&text, "%-8d%-24s%-10s%10d%12d%10d%10d%8d%8d  %s\n", one.Number, one.Address, role,
			one.Term, one.Position, newest-one.Position, one.ClockMillis,
			max(one.Format, logformat.First), max(one.Understands, logformat.First), one.Version)
	}
	text.WriteString(unadded)
	for _, one := range status.Members {
		if one.Damaged > 0 {
			fmt.Fprintf(&text, "member %d has damaged data (%d): do not let it lead, and replace it\n",
				one.Number, one.Damaged)
		}
	}
	return text.String()
}
