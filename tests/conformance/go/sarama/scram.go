package main

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"strconv"
	"strings"
)

// scramClient is the client's side of SCRAM (RFC 5802), which sarama leaves to its users.
type scramClient struct {
	hash                     func() hash.Hash
	user, password           string
	first, signature         string
	isFirstSent, isProofSent bool
	isDone                   bool
}

func (s *scramClient) Begin(user, password, _ string) error {
	s.user, s.password = user, password
	nonce := make([]byte, 18)
	if _, err := rand.Read(nonce); err != nil {
		return err
	}
	s.first = "n=" + user + ",r=" + base64.StdEncoding.EncodeToString(nonce)
	return nil
}

func (s *scramClient) Step(challenge string) (string, error) {
	switch {
	case !s.isFirstSent:
		s.isFirstSent = true
		return "n,," + s.first, nil
	case !s.isProofSent:
		s.isProofSent = true
		return s.prove(challenge)
	}
	s.isDone = true
	if challenge != "v="+s.signature {
		return "", errors.New("the broker does not know the password")
	}
	return "", nil
}

func (s *scramClient) Done() bool { return s.isDone }

func (s *scramClient) prove(challenge string) (string, error) {
	fields := map[string]string{}
	for _, field := range strings.Split(challenge, ",") {
		name, value, _ := strings.Cut(field, "=")
		fields[name] = value
	}
	salt, err := base64.StdEncoding.DecodeString(fields["s"])
	if err != nil {
		return "", err
	}
	iterations, err := strconv.Atoi(fields["i"])
	if err != nil {
		return "", err
	}
	salted, err := pbkdf2.Key(s.hash, s.password, salt, iterations, s.hash().Size())
	if err != nil {
		return "", err
	}
	clientKey := s.sign(salted, "Client Key")
	stored := s.hash()
	stored.Write(clientKey)
	final := "c=biws,r=" + fields["r"]
	message := s.first + "," + challenge + "," + final
	proof := make([]byte, len(clientKey))
	subtle.XORBytes(proof, clientKey, s.sign(stored.Sum(nil), message))
	s.signature = base64.StdEncoding.EncodeToString(s.sign(s.sign(salted, "Server Key"), message))
	return fmt.Sprintf("%s,p=%s", final, base64.StdEncoding.EncodeToString(proof)), nil
}

func (s *scramClient) sign(key []byte, message string) []byte {
	made := hmac.New(s.hash, key)
	made.Write([]byte(message))
	return made.Sum(nil)
}
