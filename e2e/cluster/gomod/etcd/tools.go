//go:build tools

// Package tools pins what the local cluster is built from; go.sum pins every byte.
package tools

import _ "go.etcd.io/etcd/server/v3"
