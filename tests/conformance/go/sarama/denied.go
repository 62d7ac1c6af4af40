package main

import (
	"context"
	"errors"

	"broker-lite/conformance/lines"

	"github.com/IBM/sarama"
)

func beDenied(of lines.Case) error {
	topic := of.Words["topic"]
	brokers := []string{of.Words["bootstrap"]}
	config := securedConfiguration(of)
	switch of.Words["action"] {
	case "produce":
		return sendOne(brokers, topic, config)
	case "idempotent":
		config.Producer.Idempotent = true
		config.Net.MaxOpenRequests = 1
		return sendOne(brokers, topic, config)
	case "read", "join":
		return readOne(brokers, topic, config)
	case "transact":
		return commit(of, sendTo(topic))
	case "offsets":
		return sendOffsets(of)
	}
	admin, err := sarama.NewClusterAdmin(brokers, config)
	if err != nil {
		return err
	}
	defer admin.Close()
	if of.Words["action"] == "create" {
		return admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: 1, ReplicationFactor: 1}, false)
	}
	described, err := admin.DescribeTopics([]string{topic})
	if err == nil && described[0].Err != sarama.ErrNoError {
		err = described[0].Err
	}
	return err
}

func sendOne(brokers []string, topic string, config *sarama.Config) error {
	producer, err := sarama.NewSyncProducer(brokers, config)
	if err != nil {
		return err
	}
	defer producer.Close()
	return sendTo(topic)(producer, "one")
}

func readOne(brokers []string, topic string, config *sarama.Config) error {
	config.Consumer.Return.Errors = true
	config.Consumer.Group.Rebalance.Retry.Backoff = 5 * backoff
	group, err := sarama.NewConsumerGroup(brokers, topic, config)
	if err != nil {
		return err
	}
	defer group.Close()
	ctx, cancel := context.WithTimeout(context.Background(), securedTimeout)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- group.Consume(ctx, []string{topic}, make(values, 1)) }()
	select {
	case err := <-group.Errors():
		return err
	case err := <-ended:
		return err
	case <-ctx.Done():
		return errors.New("no record")
	}
}

func sendOffsets(of lines.Case) error {
	topic := of.Words["topic"]
	producer, err := sarama.NewSyncProducer([]string{of.Words["bootstrap"]}, transactionalConfiguration(of))
	if err != nil {
		return err
	}
	defer producer.Close()
	if err := producer.BeginTxn(); err != nil {
		return err
	}
	offsets := map[string][]*sarama.PartitionOffsetMetadata{topic: {{Partition: 0, Offset: 0}}}
	if err := producer.AddOffsetsToTxn(offsets, topic); err != nil {
		return err
	}
	return producer.CommitTxn()
}
