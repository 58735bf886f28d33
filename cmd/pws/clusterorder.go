package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"pws/cluster"
	"pws/internal/datadir"
	"pws/internal/fault"
)

// ClusterAddCommand adds a member.
type ClusterAddCommand struct {
	Data   string `default:"./data" help:"Data directory of a running member."`
	Member string `arg:"" help:"Number and address of the new member, as 4=HOST:PORT."`
}

// ClusterRemoveCommand removes a member.
type ClusterRemoveCommand struct {
	Data   string `default:"./data" help:"Data directory of a running member."`
	Member uint64 `arg:"" help:"Number of the member to remove; it is never used again."`
}

// ClusterTransferCommand has another member lead.
type ClusterTransferCommand struct {
	Data   string `default:"./data" help:"Data directory of a running member."`
	Member uint64 `arg:"" optional:"" help:"Number of the member that is to lead; any other by default."`
}

// ClusterJoinCommand makes the data directory of a member from that of another.
type ClusterJoinCommand struct {
	Data         string `default:"./data" help:"Data directory to make; it must be empty or not exist yet."`
	From         string `required:"" help:"Member to copy from, as 1=HOST:PORT."`
	ClusterID    uint64 `name:"cluster-id" required:"" help:"Number of the new member."`
	ClusterKeys  string `name:"cluster-keys" required:"" help:"The new member's folder, made by pws cluster key."`
	ClusterPlain bool   `name:"cluster-plain" help:"No TLS between members; for loopback addresses."`
}

// ClusterLeaveCommand makes a single server of a member.
type ClusterLeaveCommand struct {
	Data string `default:"./data" help:"Data directory of the member, which must be stopped."`
}

// orderTime bounds an order.
const orderTime = 10 * time.Second

var _ = registerAction("cluster-order", func(on adminTarget, order *cluster.Order) (any, error) {
	if on.group == nil {
		return nil, errSingleServer()
	}
	ctx, cancel := context.WithTimeout(context.Background(), orderTime)
	defer cancel()
	if err := on.group.Order(ctx, *order); err != nil {
		return nil, fault.New(fault.StateConflict, err.Error())
	}
	return clusterNothing{}, nil
})

func sendOrder(data string, out io.Writer, order cluster.Order, done string) error {
	admin := &AdminCommand{Data: data}
	return runAdminCommand(admin, out, "cluster-order", order,
		func(*clusterNothing) string { return done })
}

// Run adds the member.
func (c *ClusterAddCommand) Run(out io.Writer) error {
	members, err := cluster.ParseMembers(c.Member)
	if err == nil && len(members) != 1 {
		err = errors.New("one member is added at a time")
	}
	if err != nil {
		return err
	}
	one := members[0]
	order := cluster.Order{Kind: cluster.OrderAdd, Number: one.Number, Address: one.Address}
	return sendOrder(c.Data, out, order, fmt.Sprintf(
		"member %d is added; it votes when its server has the data (pws cluster join, pws serve)",
		one.Number))
}

// Run removes the member.
func (c *ClusterRemoveCommand) Run(out io.Writer) error {
	order := cluster.Order{Kind: cluster.OrderRemove, Number: c.Member}
	return sendOrder(c.Data, out, order, fmt.Sprintf("member %d is removed", c.Member))
}

// Run has the member lead.
func (c *ClusterTransferCommand) Run(out io.Writer) error {
	order := cluster.Order{Kind: cluster.OrderTransfer, Number: c.Member}
	return sendOrder(c.Data, out, order, "another member leads now")
}

// Grace is how long it may take to remove a copy that is not complete.
func (*ClusterJoinCommand) Grace() time.Duration { return 10 * time.Minute }

// Run copies the data and checks the copy.
func (c *ClusterJoinCommand) Run(ctx context.Context, out io.Writer) error {
	members, err := cluster.ParseMembers(c.From)
	if err == nil && len(members) != 1 {
		err = errors.New("--from is one member")
	}
	if err != nil {
		return err
	}
	keepPrivate()
	err = cluster.Join(ctx, cluster.Settings{
		Data: c.Data, Number: c.ClusterID, Keys: c.ClusterKeys, Plain: c.ClusterPlain,
	}, cluster.Source{
		Address: members[0].Address, Number: members[0].Number,
		Receive: func(from io.Reader, dir string) error {
			report, err := receiveFrom(members[0].Number, from, dir)
			if err != nil {
				return err
			}
			return report.Print(out)
		},
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s is the data directory of member %d\n", c.Data, c.ClusterID)
	return err
}

// Run keeps what the member has accepted, and removes what makes the directory that of a member.
func (c *ClusterLeaveCommand) Run(out io.Writer) error {
	if err := datadir.RequireOwner(c.Data); err != nil {
		return err
	}
	left, err := cluster.Leave(c.Data)
	if err != nil {
		return err
	}
	switch {
	case left.NoRaft:
		fmt.Fprintln(out, "kept no entries: there is no log of raft that has any")
	case left.Kept == 0:
		fmt.Fprintln(out, "kept no entries: the log has all that the member has accepted")
	default:
		fmt.Fprintf(out, "kept %d entries that the member has accepted and the log did not have\n",
			left.Kept)
	}
	_, err = fmt.Fprintf(out, "%s is the data directory of a single server now; it must not take "+
		"part in the group again\n", c.Data)
	return err
}
