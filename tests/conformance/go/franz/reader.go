package main

import (
	"context"

	"broker-lite/conformance/lines"

	"github.com/twmb/franz-go/pkg/kgo"
)

// reader reads records of a synthetic topic from the begin on, and checks them.
func reader(options map[string]string) {
	topic, count := options["topic"], lines.Int(options["count"])
	from := map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(0)}}
	client, err := kgo.NewClient(kgo.SeedBrokers(options["bootstrap"]), kgo.ConsumePartitions(from))
	lines.Must(err)
	defer client.Close()
	endless := lines.NewEndless(lines.Int(options["run"]))
	for endless.Count() < count {
		fetches := client.PollFetches(context.Background())
		for _, failed := range fetches.Errors() {
			panic(failed.Err)
		}
		fetches.EachRecord(func(record *kgo.Record) { endless.Take(record.Offset, record.Value) })
	}
	endless.Print()
}
