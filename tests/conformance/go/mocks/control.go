package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// The control API of the broker at a URL.
type control string

// Send a request; its answer is decoded into the last argument.
func (url control) send(method, path, body string, answer any) {
	request, err := http.NewRequest(method, string(url)+path, strings.NewReader(body))
	must(err)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	must(err)
	defer response.Body.Close()
	if answer == nil {
		answer = new(any)
	}
	must(json.NewDecoder(response.Body).Decode(answer))
	check(response.StatusCode == http.StatusOK, fmt.Sprint(method, " ", path, ": ", answer))
}

type rule struct {
	Keys       []string `json:"keys"`
	Topic      string   `json:"topic,omitempty"`
	Group      string   `json:"group,omitempty"`
	Partitions []int32  `json:"partitions,omitempty"`
	Nodes      []int32  `json:"nodes,omitempty"`
	Error      string   `json:"error,omitempty"`
	Hold       bool     `json:"hold,omitempty"`
	Count      int      `json:"count,omitempty"`
}

// Put a rule in force; the answer is its path.
func (url control) fault(rule rule) string {
	body, err := json.Marshal(map[string]any{"rules": []any{rule}})
	must(err)
	var made struct{ Id string }
	url.send("POST", "/v1/faults", string(body), &made)
	return "/v1/faults/" + made.Id
}

func (url control) hits(fault string) int {
	var state struct{ Hits int }
	url.send("GET", fault, "", &state)
	return state.Hits
}

func (url control) leader(topic string, partition int32) int32 {
	var found struct{ Leader int32 }
	url.send("GET", fmt.Sprintf("/v1/topics/%s/%d", topic, partition), "", &found)
	return found.Leader
}

func (url control) moveLeader(topic string, partition, node int32) {
	url.send("PATCH", fmt.Sprintf("/v1/topics/%s/%d", topic, partition), fmt.Sprintf(`{"leader": %d}`, node), nil)
}

// How many records all partitions of a topic have together.
func (url control) records(topic string) (count int64) {
	var found struct{ Offsets []struct{ End int64 } }
	url.send("GET", "/v1/topics/"+topic, "", &found)
	for _, partition := range found.Offsets {
		count += partition.End
	}
	return count
}

type asked struct {
	Node   int32
	Errors []string
}

// The recorded requests of one API for a topic.
func (url control) requests(api, topic string) []asked {
	var found []asked
	url.send("GET", "/v1/requests?keys="+api+"&topic="+topic, "", &found)
	return found
}
