package main

import (
	"context"
	"errors"
	"strings"
	"sync"

	"broker-lite/conformance/lines"

	"github.com/IBM/sarama"
)

// handler reads the partitions of one session at a time.
type handler struct {
	lock  sync.Mutex
	owned lines.Owned
	topic string
	// where the next session begins, after a seek
	sought map[int32]int64
}

func (h *handler) seek(partition int32, offset int64) {
	h.lock.Lock()
	defer h.lock.Unlock()
	h.sought[partition] = offset
}

func (h *handler) Setup(session sarama.ConsumerGroupSession) error {
	h.lock.Lock()
	defer h.lock.Unlock()
	for partition, offset := range h.sought {
		session.ResetOffset(h.topic, partition, offset, "")
		delete(h.sought, partition)
	}
	h.owned.Add(session.Claims()[h.topic])
	return nil
}

func (h *handler) Cleanup(session sarama.ConsumerGroupSession) error {
	h.owned.Remove(session.Claims()[h.topic])
	return nil
}

func (h *handler) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case <-session.Context().Done():
			return nil
		case message, open := <-claim.Messages():
			if !open {
				return nil
			}
			h.take(session, claim, message)
		}
	}
}

// take prints and marks all that has come, and commits it; Commit tells no outcome, so there is no event for it.
func (h *handler) take(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim, message *sarama.ConsumerMessage) {
	for message != nil {
		lines.Emit("read", message.Partition, message.Offset, string(message.Value))
		session.MarkMessage(message, "")
		select {
		case message = <-claim.Messages():
		default:
			message = nil
		}
	}
	session.Commit()
}

func member(options map[string]string) {
	config := configuration()
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Retry.Backoff = backoff
	config.Consumer.Group.Rebalance.Retry.Backoff = backoff
	config.Metadata.Retry.Backoff = backoff
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Group.Session.Timeout = lines.Milliseconds(options, "session_ms")
	config.Consumer.Group.Heartbeat.Interval = lines.Milliseconds(options, "heartbeat_ms")
	config.Consumer.Group.InstanceId = options["instance"]
	config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{sarama.NewBalanceStrategyRange()}
	if options["isolation"] == "read_committed" {
		config.Consumer.IsolationLevel = sarama.ReadCommitted
	}
	group, err := sarama.NewConsumerGroup(strings.Split(options["bootstrap"], ","), options["group"], config)
	lines.Must(err)
	reader := &handler{topic: options["topic"], sought: map[int32]int64{}}
	// a session ends, and another begins, when its context does
	end := make(chan context.CancelFunc)
	ended := make(chan struct{})
	go consume(group, reader, end, ended)
	for command := range lines.Commands() {
		reader.seek(int32(lines.Int(command[1])), lines.Int(command[2]))
		(<-end)()
		lines.Emit("done", command[0], command[1], command[2])
	}
	lines.Must(group.Close())
	<-ended
}

func consume(group sarama.ConsumerGroup, reader *handler, end chan<- context.CancelFunc, ended chan<- struct{}) {
	defer close(ended)
	for {
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			select {
			case end <- cancel:
			case <-ctx.Done():
			}
		}()
		err := group.Consume(ctx, []string{reader.topic}, reader)
		cancel()
		if errors.Is(err, sarama.ErrClosedConsumerGroup) {
			return
		}
		if err != nil {
			lines.Emit("refused", lines.Name(err))
		}
	}
}
