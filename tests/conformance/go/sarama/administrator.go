package main

import (
	"errors"
	"fmt"
	"strings"

	"broker-lite/conformance/lines"

	"github.com/IBM/sarama"
)

func administrator(options map[string]string) {
	admin, err := sarama.NewClusterAdmin([]string{options["bootstrap"]}, configuration())
	lines.Must(err)
	defer admin.Close()
	lines.Serve(func(command []string) ([]any, error) { return administer(admin, command) })
}

func administer(admin sarama.ClusterAdmin, command []string) (words []any, err error) {
	switch command[0] {
	case "list":
		listed, err := admin.ListConsumerGroups()
		for group := range listed {
			words = append(words, group)
		}
		return words, err
	case "state":
		described, err := admin.DescribeConsumerGroups([]string{command[1]})
		if err != nil {
			return nil, err
		}
		if described[0].Err != sarama.ErrNoError {
			return nil, described[0].Err
		}
		return []any{strings.ToLower(described[0].State), len(described[0].Members)}, nil
	case "offsets":
		found, err := admin.ListConsumerGroupOffsets(command[1], nil)
		if err != nil {
			return nil, err
		}
		for _, partitions := range found.Blocks {
			for partition, block := range partitions {
				words = append(words, fmt.Sprintf("%d:%d", partition, block.Offset))
			}
		}
		return words, nil
	case "forget":
		return nil, admin.DeleteConsumerGroupOffset(command[1], command[2], int32(lines.Int(command[3])))
	case "delete":
		return nil, admin.DeleteConsumerGroup(command[1])
	}
	return nil, errors.New("no command " + command[0])
}
