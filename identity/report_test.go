package identity

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"pws/internal/id"
)

// reportEach makes reports of an agent and anonymous ones, has one handled, and one of those
// dropped.
func (v *server) reportEach(t testing.TB, agent id.ID) {
	t.Helper()
	entity := id.New(testNow, [10]byte{9})
	for _, command := range []*MakeReport{
		{Agent: agent, Type: ReportedFile, Entity: entity, Path: "a/b.md", Reason: ReasonMalware},
		{Type: ReportedAgent, Entity: agent, Reason: ReasonOther, Details: "it is rude"},
		{Agent: agent, Type: ReportedProject, Entity: entity, Reason: ReasonSpam},
	} {
		v.now++
		result, err := v.do(command)
		made, ok := result.(*ReportMade)
		if err != nil || !ok {
			t.Fatal(result, err)
		}
		if command.Details != "" {
			continue
		}
		if _, err := v.do(&HandleReport{Report: made.Report.ID}); err != nil {
			t.Fatal(err)
		}
	}
	v.apply(v.now, &ReportForgotten{Report: v.state.oldestHandled().ID})
}

// reportCommand is one of reports: of a session's agent or anonymous.
func (w *world) reportCommand() Command {
	rt := w.rt
	if w.state.Counts().Reports > 0 && rapid.IntRange(0, 2).Draw(rt, "handle") == 0 {
		var all []id.ID
		for report := range w.state.Reports(id.ID{}) {
			all = append(all, report.ID)
		}
		return &HandleReport{Report: pick(rt, "report", append(all, id.ID{1}))}
	}
	reporter := pick(rt, "reporter", []id.ID{{}, w.caller().Agent})
	kind := Reported(rapid.IntRange(1, len(reportedKinds)-1).Draw(rt, "type"))
	return &MakeReport{
		Agent: reporter, Type: kind, Entity: id.New(w.now, [10]byte{1}), Path: "p",
		Reason: ReasonIllegal, Details: "d",
	}
}

// report is the command of a line of a table; without an agent it is anonymous.
func (b *table) report() Command {
	entity := id.New(testNow, [10]byte{9})
	return &MakeReport{
		Agent: b.agents[b.args["agent"]], Type: ParseReported(b.arg("type", "PROJECT")),
		Entity: entity, Path: b.args["path"], Reason: ParseReportReason(b.arg("reason", "SPAM")),
		Details: b.args["details"],
	}
}

func (b *table) reportAnswer(name string, report *Report) string {
	if name != "" {
		b.reports[name] = report.ID
	}
	return fmt.Sprintf("ok status=%s type=%s reason=%s details=%q handled=%d reports=%d",
		report.Status(), report.Type, report.Reason, report.Details, report.HandledAt,
		b.v.state.Counts().Reports)
}

// fillReports makes reports up to a number: anonymous ones, or each of a different agent.
func (b *table) fillReports() (string, error) {
	count, err := strconv.Atoi(b.args["count"])
	next := b.v.state.Clone()
	for next.Counts().Reports < count {
		st := b.v.stamp()
		made := &ReportAccepted{
			Report: st.newID("report"), Agent: b.agents[b.args["agent"]], Type: ReportedProject,
			Entity: id.New(testNow, [10]byte{9}), Reason: ReasonSpam,
		}
		if b.args["agents"] != "" {
			binary.BigEndian.PutUint64(made.Agent[8:], b.v.steps)
		}
		next.Apply(made, st.Now)
	}
	b.v.state = next
	return "ok", err
}

func FuzzRestoreReport(f *testing.F) {
	for report := range everyKind(f).state.Reports(id.ID{}) {
		f.Add(everyKind(f).state.EncodeReport(report.ID))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := New()
		if err := s.RestoreReport(data); err != nil {
			if !errors.Is(err, ErrCorrupt) || s.Counts() != (Counts{}) {
				t.Fatalf("%v, %+v", err, s.Counts())
			}
			return
		}
		for report := range s.Reports(id.ID{}) {
			_ = report.EntityText() + report.Reason.String() + report.Status()
			if again := s.EncodeReport(report.ID); !bytes.Equal(again, data) {
				t.Fatalf("%x became %x", data, again)
			}
		}
		if err := checkReports(s); err != nil {
			t.Fatal(err)
		}
		if err := s.RestoreReport(data); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("the same report twice: %v", err)
		}
	})
}

func TestReportNamesAreOfTheWire(t *testing.T) {
	for kind := ReportedProject; kind.known(); kind++ {
		if ParseReported(kind.String()) != kind || kind.Prefix() == "" {
			t.Errorf("%d is %q", kind, kind)
		}
	}
	for reason := ReasonSpam; reason <= ReasonOther; reason++ {
		if ParseReportReason(reason.String()) != reason {
			t.Errorf("%d is %q", reason, reason)
		}
	}
	if ParseReported("") != 0 || ParseReported("x") != 0 || ParseReportReason("x") != 0 {
		t.Error("no name is one")
	}
	file := Report{Type: ReportedFile, Entity: id.New(1, [10]byte{1}), Path: "a/b"}
	if got := file.EntityText(); got != file.Entity.Format(id.Project)+"/a/b" {
		t.Error(got)
	}
}
