package main

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"broker-lite/conformance/lines"

	"github.com/IBM/sarama"
)

const pause = 10 * time.Millisecond

func writerConfiguration(options map[string]string) *sarama.Config {
	config := configuration()
	config.Producer.Return.Successes = true
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.Idempotent = options["idempotent"] == "true"
	config.Producer.RequiredAcks = sarama.WaitForAll
	if options["acks"] == "1" {
		config.Producer.RequiredAcks = sarama.WaitForLocal
	}
	config.Producer.Timeout = lines.Milliseconds(options, "request_ms")
	config.Net.ReadTimeout = lines.Milliseconds(options, "request_ms") + time.Second
	config.Net.DialTimeout = lines.Milliseconds(options, "request_ms")
	config.Net.MaxOpenRequests = 1 // what Idempotent needs
	config.Producer.Retry.Backoff = backoff
	config.Producer.Retry.Max = int(lines.Int(options["delivery_ms"]) / 100)
	config.Metadata.Retry.Backoff = backoff
	config.Metadata.RefreshFrequency = 2 * time.Second
	return config
}

// sent is what a caller of the producer waits for: where the record is, or why it is nowhere.
type sent struct {
	number string
	answer chan error
}

func writer(options map[string]string) {
	client, err := sarama.NewClient(strings.Split(options["bootstrap"], ","), writerConfiguration(options))
	lines.Must(err)
	producer, err := sarama.NewAsyncProducerFromClient(client)
	lines.Must(err)
	var load, outstanding, answers sync.WaitGroup
	answers.Go(func() { succeed(producer, &outstanding) })
	answers.Go(func() { fail(producer, &outstanding) })
	stopping := make(chan struct{})
	put := func(partition int32, value string, answer chan error) *sarama.ProducerMessage {
		message := &sarama.ProducerMessage{
			Topic: options["topic"], Partition: partition, Value: sarama.StringEncoder(value), Metadata: sent{value, answer},
		}
		outstanding.Add(1)
		producer.Input() <- message
		return message
	}
	lines.Serve(func(command []string) ([]any, error) {
		switch command[0] {
		case "send":
			answer := make(chan error, 1)
			message := put(int32(lines.Int(command[1])), command[2], answer)
			err := <-answer
			return []any{message.Partition, message.Offset}, err
		case "load":
			load.Go(func() { write(put, int32(lines.Int(command[1])), stopping) })
			return nil, nil
		case "stop":
			close(stopping)
			load.Wait()
			outstanding.Wait()
			return nil, nil
		case "leaders":
			return leaders(client, options["topic"])
		}
		return nil, fmt.Errorf("no command %s", command[0])
	})
	producer.AsyncClose()
	answers.Wait()
	lines.Must(client.Close())
}

func write(put func(int32, string, chan error) *sarama.ProducerMessage, partitions int32, stopping <-chan struct{}) {
	for number := 0; ; number++ {
		for partition := range partitions {
			put(partition, strconv.Itoa(number), nil)
		}
		select {
		case <-stopping:
			return
		case <-time.After(pause):
		}
	}
}

func succeed(producer sarama.AsyncProducer, outstanding *sync.WaitGroup) {
	for message := range producer.Successes() {
		of := message.Metadata.(sent)
		if of.answer != nil {
			of.answer <- nil
		} else {
			lines.Emit("acked", message.Partition, message.Offset, of.number)
		}
		outstanding.Done()
	}
}

func fail(producer sarama.AsyncProducer, outstanding *sync.WaitGroup) {
	for failed := range producer.Errors() {
		of := failed.Msg.Metadata.(sent)
		if of.answer != nil {
			of.answer <- failed.Err
		} else {
			lines.Emit("lost", failed.Msg.Partition, of.number, lines.Name(failed.Err))
		}
		outstanding.Done()
	}
}

func leaders(client sarama.Client, topic string) ([]any, error) {
	partitions, err := client.Partitions(topic)
	if err != nil {
		return nil, err
	}
	var words []any
	for _, partition := range partitions {
		leader, err := client.Leader(topic, partition)
		if err != nil {
			return nil, err
		}
		words = append(words, fmt.Sprintf("%d:%d", partition, leader.ID()))
	}
	return words, nil
}
