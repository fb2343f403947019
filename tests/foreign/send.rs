// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

//! Sends by tokio: send write|zerocopy ADDRESS CONNECTIONS SENDS BYTES. Each connection has
//! a task; there are two worker threads. Prints the tasks' counts as JSON.

use std::io::{Error, ErrorKind, Result};
use std::os::unix::io::AsRawFd;
use tokio::io::Interest;
use tokio::net::TcpStream;

const IN_FLIGHT: usize = 64;

/// Calls that the kernel accepted, calls that found no room, and zero-copy sends that the error
/// queue reported.
#[derive(Default)]
struct Counts {
    sends: usize,
    again: usize,
    bytes: usize,
    completions: usize,
    copied: usize,
}

fn checked(result: isize) -> Result<usize> {
    usize::try_from(result).map_err(|_| Error::last_os_error())
}

fn allow_zerocopy(fd: i32) -> Result<()> {
    let one: libc::c_int = 1;
    let status = unsafe {
        libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_ZEROCOPY, (&one as *const i32).cast(), 4)
    };
    checked(status as isize).map(|_| ())
}

fn send_zerocopy(fd: i32, data: &[u8]) -> Result<usize> {
    let flags = libc::MSG_ZEROCOPY | libc::MSG_NOSIGNAL;
    checked(unsafe { libc::send(fd, data.as_ptr().cast(), data.len(), flags) })
}

/// Waits for a notification of the error queue, and reads it: the range of sends, and whether
/// it was copied. Tokio of 1.24 cannot wait for an error alone, so this blocks its thread.
fn read_notification(fd: i32) -> Result<(usize, bool)> {
    let mut control = [0u64; 16];
    unsafe {
        let mut waiting = libc::pollfd { fd, events: 0, revents: 0 };
        checked(libc::poll(&mut waiting, 1, -1) as isize)?;
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = std::mem::size_of_val(&control);
        checked(libc::recvmsg(fd, &mut message, libc::MSG_ERRQUEUE))?;
        let header = libc::CMSG_FIRSTHDR(&message);
        assert!(!header.is_null());
        let error: libc::sock_extended_err = std::ptr::read_unaligned(libc::CMSG_DATA(header).cast());
        assert_eq!(error.ee_origin, 5); // SO_EE_ORIGIN_ZEROCOPY
        Ok((error.ee_data.wrapping_sub(error.ee_info) as usize + 1, error.ee_code == 1))
    }
}

impl Counts {
    async fn send_part(&mut self, stream: &TcpStream, data: &[u8], zerocopy: bool) -> Result<usize> {
        loop {
            stream.writable().await?;
            let mut called = false;
            let sent = if zerocopy {
                stream.try_io(Interest::WRITABLE, || {
                    called = true;
                    send_zerocopy(stream.as_raw_fd(), data)
                })
            } else {
                called = true;
                stream.try_write(data)
            };
            match sent {
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    self.again += called as usize;
                    // For tokio, a socket with an error has room, so it would try to send for ever.
                    if zerocopy && self.sends > self.completions {
                        self.read_notifications(stream.as_raw_fd(), self.sends - self.completions - 1)?;
                    }
                }
                Err(e) => return Err(e),
                Ok(n) => {
                    self.sends += 1;
                    self.bytes += n;
                    return Ok(n);
                }
            }
        }
    }

    fn read_notifications(&mut self, fd: i32, until: usize) -> Result<()> {
        while self.sends - self.completions > until {
            let (sends, copied) = read_notification(fd)?;
            self.completions += sends;
            self.copied += if copied { sends } else { 0 };
        }
        Ok(())
    }

    fn add(&mut self, other: &Counts) {
        self.sends += other.sends;
        self.again += other.again;
        self.bytes += other.bytes;
        self.completions += other.completions;
        self.copied += other.copied;
    }
}

async fn connection(address: String, sends: usize, size: usize, zerocopy: bool) -> Result<Counts> {
    let stream = TcpStream::connect(address).await?;
    let fd = stream.as_raw_fd();
    let data = vec![b'r'; size];
    let mut counts = Counts::default();
    if zerocopy {
        allow_zerocopy(fd)?;
    }
    for _ in 0..sends {
        let mut rest = &data[..];
        while !rest.is_empty() {
            rest = &rest[counts.send_part(&stream, rest, zerocopy).await?..];
        }
        if zerocopy {
            counts.read_notifications(fd, IN_FLIGHT)?;
        }
    }
    if zerocopy {
        counts.read_notifications(fd, 0)?;
    }
    Ok(counts)
}

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().collect();
    let number = |i: usize| words[i].parse::<usize>().expect("a number");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_io().build()?;
    let (sends, size, zerocopy) = (number(4), number(5), words[1] == "zerocopy");
    let tasks: Vec<_> = (0..number(3))
        .map(|_| runtime.spawn(connection(words[2].clone(), sends, size, zerocopy)))
        .collect();
    let mut total = Counts::default();
    for task in tasks {
        total.add(&runtime.block_on(task)??);
    }
    println!(
        "{{\"sends\": {}, \"again\": {}, \"bytes\": {}, \"completions\": {}, \"copied\": {}}}",
        total.sends, total.again, total.bytes, total.completions, total.copied
    );
    Ok(())
}
