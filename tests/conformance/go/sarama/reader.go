package main

import (
	"broker-lite/conformance/lines"

	"github.com/IBM/sarama"
)

// reader reads records of a synthetic topic from the begin on, and checks them.
func reader(options map[string]string) {
	config := configuration()
	config.Consumer.Return.Errors = true
	config.Consumer.Fetch.Default = 1 << 20
	consumer, err := sarama.NewConsumer([]string{options["bootstrap"]}, config)
	lines.Must(err)
	defer consumer.Close()
	partition, err := consumer.ConsumePartition(options["topic"], 0, 0)
	lines.Must(err)
	defer partition.AsyncClose()
	endless := lines.NewEndless(lines.Int(options["run"]))
	for endless.Count() < lines.Int(options["count"]) {
		select {
		case record := <-partition.Messages():
			endless.Take(record.Offset, record.Value)
		case failed := <-partition.Errors():
			panic(failed)
		}
	}
	endless.Print()
}
