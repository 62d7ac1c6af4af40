// Programs under test with franz-go: run as `franz ROLE name=value...`; tests/conformance/clients.py says what the roles do.
package main

import (
	"context"
	"os"
	"strings"
	"time"

	"broker-lite/conformance/lines"

	"github.com/twmb/franz-go/pkg/kgo"
)

// metadataAge is how old metadata has to be before a client asks for it again; the default is seconds.
const metadataAge = 100 * time.Millisecond

func main() {
	options := lines.Options()
	switch os.Args[1] {
	case "member":
		member(options)
	case "transactor":
		transactor(options)
	case "transform":
		transform(options)
	case "reader":
		reader(options)
	case "writer":
		writer(options)
	case "sharer":
		sharer(options)
	case "secured":
		lines.EachCase(secured)
	case "administrator":
		administrator(options)
	default:
		panic(os.Args[1])
	}
}

func consumerOptions(options map[string]string) []kgo.Opt {
	owned := &lines.Owned{}
	made := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(options["bootstrap"], ",")...), kgo.ConsumerGroup(options["group"]), kgo.ConsumeTopics(options["topic"]),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit(), kgo.MetadataMinAge(metadataAge),
		kgo.SessionTimeout(lines.Milliseconds(options, "session_ms")), kgo.HeartbeatInterval(lines.Milliseconds(options, "heartbeat_ms")),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, added map[string][]int32) { owned.Add(added[options["topic"]]) }),
		kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, gone map[string][]int32) { owned.Remove(gone[options["topic"]]) }),
	}
	if instance, given := options["instance"]; given {
		made = append(made, kgo.InstanceID(instance))
	}
	if options["isolation"] == "read_committed" {
		made = append(made, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	}
	switch {
	case options["protocol"] == "consumer":
		made = append(made, kgo.ServerSideBalancer())
	case options["assignor"] == "cooperative":
		made = append(made, kgo.Balancers(kgo.CooperativeStickyBalancer()))
	default:
		made = append(made, kgo.Balancers(kgo.RangeBalancer()))
	}
	return made
}

func producerOptions(options map[string]string) []kgo.Opt {
	return []kgo.Opt{
		kgo.SeedBrokers(strings.Split(options["bootstrap"], ",")...), kgo.TransactionalID(options["transactional_id"]),
		kgo.TransactionTimeout(lines.Milliseconds(options, "timeout_ms")), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MetadataMinAge(metadataAge),
	}
}
