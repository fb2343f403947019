// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Sends by Node: node send.js PORT CONNECTIONS WRITES BYTES. Every second write is corked with the next; libuv sends
// both by one writev. Prints the sockets' own counts as JSON.
'use strict';
const net = require('net');

const [port, connections, writes, size] = process.argv.slice(2).map(Number);
const data = Buffer.alloc(size, 'n');
const total = {writes: 0, bytes: 0};
let open = connections;

function send(socket, left) {
  if (left <= 0) {
    socket.end();
    return;
  }
  socket.cork();
  socket.write(data);
  socket.write(data, () => send(socket, left - 3));
  socket.uncork();
  socket.write(data);
  total.writes += 3;
}

for (let i = 0; i < connections; i++) {
  const socket = net.connect(port, '127.0.0.1', () => send(socket, writes));
  socket.on('close', (failed) => {
    if (failed)
      process.exit(1);
    total.bytes += socket.bytesWritten;
    if (--open === 0)
      console.log(JSON.stringify(total));
  });
}
