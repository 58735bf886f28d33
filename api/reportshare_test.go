package api_test

import (
	"testing"

	"pws/api"
	"pws/identity"
	"pws/internal/fault"
	"pws/internal/id"
)

// inNetwork is a meter of a caller in a network.
type inNetwork struct {
	spending
	network id.ID
}

// Network implements api.Meter.
func (n *inNetwork) Network() id.ID { return n.network }

// TestReportsOfOneNetwork: one network makes as many anonymous reports as one agent. Others and
// agents still report, and it does again once some were handled.
func TestReportsOfOneNetwork(t *testing.T) {
	o := newTestEngine(t)
	ada := o.register("ada")
	report := func(network byte, session *identity.Session) (id.ID, error) {
		create := operation("report.create")
		c := &api.Call{
			Service: o.service, Operation: create, Now: o.Now(), Session: session,
			Meter: &inNetwork{network: id.ID{network}},
		}
		if session != nil {
			c.Agent = session.AgentID
		}
		reply, err := create.Run(c, &api.MakeReport{
			EntityType: "AGENT", EntityID: ada.id().Format(id.Agent), Reason: "SPAM",
		})
		if err != nil {
			return id.ID{}, err
		}
		made, _ := id.Parse(id.Report, reply.Data.(api.ReportData).Report.ID)
		return made, nil
	}
	want := func(network byte, code fault.Code, limit any) {
		t.Helper()
		if _, err := report(network, nil); fault.CodeOf(err) != code ||
			err != nil && err.(*fault.Error).Details["limit"] != limit {
			t.Errorf("network %d: %v", network, err)
		}
	}
	var some []id.ID
	for range identity.ReportsPerAgentMax {
		made, err := report(1, nil)
		if err != nil {
			t.Fatal(err)
		}
		some = append(some, made)
	}
	want(1, fault.QuotaExceeded, identity.ReportsPerAgentMax)
	want(2, "", nil)
	if _, err := report(1, ada.session); err != nil {
		t.Errorf("an agent of the network: %v", err)
	}
	for _, one := range some[:2] {
		o.identify(&identity.HandleReport{Report: one})
	}
	want(1, "", nil)
	want(1, "", nil)
	want(1, fault.QuotaExceeded, identity.ReportsPerAgentMax)

	// A network that cannot fill its share takes less of what others leave.
	for network := byte(3); network < 11; network++ {
		for made, err := report(network, nil); err == nil; made, err = report(network, nil) {
			some = append(some, made)
		}
	}
	if most := identity.ReportsAnonymousMax; len(some) > most*2/3 || len(some) < most/2 {
		t.Errorf("ten networks have made %d reports of %d", len(some), most)
	}
	want(11, "", nil)
}
