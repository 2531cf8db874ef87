//! What the warden does about calls that lead outside: sockets, connections, addresses, look-ups and datagrams.

use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::net::sockopt::{socket_domain, socket_type};
use rustix::net::{AddressFamily, SendFlags, SocketAddrUnix, SocketType};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::notify::{self, Held};
use super::warden::{Desk, Fate};
use crate::run::{Area, Decision};

/// Longest datagram that is taken over.
pub(super) const DATAGRAM: usize = 65_536;
/// Most datagrams that are sent by one call, and parts that one is put together from.
const MESSAGES: u64 = 64;
const PARTS: u64 = 64;
/// Look-ups come as a connection to this name in the abstract space, which leads nowhere.
const LOOK_UP: &[u8] = b"\0reweave-look-up:";
/// Services of the system that the C library tries before it looks itself; it goes on without them.
const SERVICES: [&str; 6] =
    ["/var/run/nscd/", "/run/nscd/", "/run/systemd/", "/var/lib/sss/", "/run/dbus/", "/run/avahi-daemon/"];

impl Desk {
    /// A socket for datagrams, which can be sent without a connection: only where some host may be reached.
    pub(super) fn datagrams(&self, held: &Held) -> Fate {
        let [domain, ..] = held.arguments;
        let open = domain != 1 && !self.notes().hosts.is_empty()
            || self.settings.policy.default_of(Area::Network) == Decision::Allow;
        if open {
            return Fate::Pass;
        }
        if domain != 1 {
            self.refused(Area::Network, "datagrams", "no host that it may reach was looked up");
        }
        Fate::Done(Err(Errno::ACCESS))
    }

    /// The socket that a process means, what it is for, and its kind. After the call was looked at, so that what is
    /// fetched belongs to the process that waits.
    pub(super) fn socket(&self, held: &Held, number: u64) -> io::Result<(OwnedFd, AddressFamily, SocketType)> {
        let leader = held.leader().ok_or(Errno::SRCH)?;
        let process = pidfd_open(Pid::from_raw(leader).ok_or(Errno::SRCH)?, PidfdFlags::empty())?;
        let number = i32::try_from(number).map_err(|_| Errno::BADF)?;
        let socket = pidfd_getfd(process, number, PidfdGetfdFlags::empty())?;
        if !self.is_held(held) {
            return Err(Errno::SRCH.into());
        }
        let (domain, kind) = (socket_domain(&socket)?, socket_type(&socket)?);
        Ok((socket, domain, kind))
    }

    pub(super) fn connect(&self, held: &Held, number: u64, address: &[u8]) -> io::Result<Fate> {
        let (socket, domain, kind) = self.socket(held, number)?;
        if domain == AddressFamily::NETLINK {
            return Ok(Fate::Pass);
        }
        if domain == AddressFamily::UNIX {
            return self.connect_unix(held, &socket, address);
        }
        if matches!(address, [0, 0, ..]) {
            return Ok(Fate::Done(rustix::net::connect_unspec(&socket).map(|()| 0)));
        }
        let Some(to) = inet(address) else { return Ok(Fate::Done(Err(Errno::AFNOSUPPORT))) };
        if !self.reaches(held, &to, kind == SocketType::STREAM) {
            return Ok(Fate::Done(Err(Errno::ACCESS)));
        }
        Ok(Fate::Done(rustix::net::connect(&socket, &to).map(|()| 0)))
    }

    /// Whether an address may be reached. Nobody is asked about a datagram: the resolver tries what it finds.
    pub(super) fn reaches(&self, held: &Held, to: &SocketAddr, asks: bool) -> bool {
        let policy = &self.settings.policy;
        let target = to.to_string();
        if policy.decide(Area::Network, &target) == Decision::Allow {
            return true;
        }
        {
            let notes = self.notes();
            let named = notes.hosts.values().any(|addresses| addresses.contains(&to.ip()));
            if named || !notes.hosts.is_empty() && to.port() == 53 && is_nameserver(to.ip()) {
                return true;
            }
        }
        if asks {
            return self.may(held, Area::Network, &target);
        }
        let leaves = &self.settings.leaves;
        let notes = self.notes();
        notes.once.contains(&(Area::Network, target.clone()))
            || leaves.covers(notes.step.as_ref(), Area::Network, &target)
    }

    fn connect_unix(&self, held: &Held, socket: &OwnedFd, address: &[u8]) -> io::Result<Fate> {
        let path = address.get(2..).unwrap_or_default();
        if let Some(asked) = path.strip_prefix(LOOK_UP) {
            let name = String::from_utf8_lossy(asked).into_owned();
            let may = self.look_up(held, &name);
            return Ok(Fate::Done(Err(if may { Errno::CONNREFUSED } else { Errno::ACCESS })));
        }
        if path.first().is_none_or(|byte| *byte == 0) {
            self.refused(Area::Network, "a socket in the abstract space", "such sockets belong to other programs");
            return Ok(Fate::Done(Err(Errno::ACCESS)));
        }
        let end = path.iter().position(|byte| *byte == 0).unwrap_or(path.len());
        let name = std::str::from_utf8(path.get(..end).unwrap_or_default()).map_err(|_| Errno::INVAL)?;
        let root = File::open(format!("/proc/{}/root", held.pid))?;
        let full = Path::new(&std::fs::read_link(format!("/proc/{}/cwd", held.pid))?).join(name);
        if SERVICES.iter().any(|service| full.starts_with(service)) {
            return Ok(Fate::Done(Err(Errno::CONNREFUSED)));
        }
        let within = ResolveFlags::IN_ROOT;
        let found = rustix::fs::openat2(&root, &full, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), within)?;
        let here = notify::path_of(&found);
        let real = std::fs::read_link(&here)?;
        let own = self.grounds.dirs.iter().any(|own| real.starts_with(own));
        if !own && !self.may(held, Area::Network, &format!("unix:{}", real.display())) {
            return Ok(Fate::Done(Err(Errno::ACCESS)));
        }
        let to = SocketAddrUnix::new(&here)?;
        Ok(Fate::Done(rustix::net::connect(socket, &to).map(|()| 0)))
    }

    /// A name is to be looked up, `host` or `host:port`: where the host may be reached, its addresses may be from now on.
    pub(super) fn look_up(&self, held: &Held, name: &str) -> bool {
        let (host, port) = match name.rsplit_once(':') {
            Some((host, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => (host, port),
            _ => (name, ""),
        };
        if self.notes().hosts.contains_key(host) {
            return true;
        }
        let policy = &self.settings.policy;
        let exact = !port.is_empty() && policy.decide(Area::Network, name) == Decision::Allow;
        if !exact && !self.may(held, Area::Network, host) {
            return false;
        }
        let found = (host, 0).to_socket_addrs().map(|found| found.map(|one| one.ip()).collect()).unwrap_or_default();
        self.notes().hosts.insert(host.to_owned(), found);
        true
    }

    pub(super) fn bind(&self, held: &Held, number: u64, address: &[u8]) -> io::Result<Fate> {
        let (socket, domain, kind) = self.socket(held, number)?;
        if domain != AddressFamily::INET && domain != AddressFamily::INET6 {
            // Where a file is made for it, the rules for files decide. A name in the abstract space is for everybody.
            let named = address.get(2).is_some_and(|first| *first != 0);
            if domain == AddressFamily::UNIX && !named {
                self.refused(Area::Network, "a name in the abstract space", "such sockets are open to other programs");
                return Ok(Fate::Done(Err(Errno::ACCESS)));
            }
            if let Some(why) =
                self.path_of_socket(held, address)?.and_then(|path| self.grounds.files.holds(&path, false))
            {
                self.refused(Area::Write, &String::from_utf8_lossy(address.get(2..).unwrap_or_default()), why);
                return Ok(Fate::Done(Err(Errno::ROFS)));
            }
            return Ok(Fate::Pass);
        }
        let Some(at) = inet(address) else { return Ok(Fate::Done(Err(Errno::AFNOSUPPORT))) };
        if kind == SocketType::STREAM && !self.may(held, Area::Network, &format!("listen {at}")) {
            return Ok(Fate::Done(Err(Errno::ACCESS)));
        }
        Ok(Fate::Done(rustix::net::bind(&socket, &at).map(|()| 0)))
    }

    /// Where the file of a socket would be made.
    fn path_of_socket(&self, held: &Held, address: &[u8]) -> io::Result<Option<PathBuf>> {
        let path = address.get(2..).unwrap_or_default();
        let end = path.iter().position(|byte| *byte == 0).unwrap_or(path.len());
        let Ok(name) = std::str::from_utf8(path.get(..end).unwrap_or_default()) else { return Ok(None) };
        let full = Path::new(&std::fs::read_link(format!("/proc/{}/cwd", held.pid))?).join(name);
        // Where its directory is not, the call comes to nothing.
        Ok(self.place_of(held, &full).ok().map(|place| place.full))
    }

    /// One that was never bound would listen wherever it can be reached.
    pub(super) fn listen(&self, held: &Held, number: u64, most: u64) -> io::Result<Fate> {
        let (socket, domain, _) = self.socket(held, number)?;
        let here = rustix::net::getsockname(&socket).ok().and_then(|at| SocketAddr::try_from(at).ok());
        if domain != AddressFamily::UNIX
            && here.is_none_or(|here| here.port() == 0)
            && !self.may(held, Area::Network, "listen 0.0.0.0:0")
        {
            return Ok(Fate::Done(Err(Errno::ACCESS)));
        }
        let most = i32::try_from(most & 0xFFFF_FFFF).unwrap_or(i32::MAX);
        Ok(Fate::Done(rustix::net::listen(&socket, most).map(|()| 0)))
    }

    /// A datagram is sent from here, with the address and the content that were looked at. What is connected to
    /// somebody sends to nobody else.
    pub(super) fn messages(
        &self,
        held: &Held,
        number: u64,
        at: u64,
        count: Option<u64>,
        flags: u64,
    ) -> io::Result<Fate> {
        let (socket, domain, kind) = self.socket(held, number)?;
        if kind != SocketType::DGRAM || domain == AddressFamily::NETLINK {
            return Ok(Fate::Pass);
        }
        if domain != AddressFamily::INET && domain != AddressFamily::INET6 {
            return Ok(Fate::Done(Err(Errno::ACCESS)));
        }
        let flags = SendFlags::from_bits_retain(u32::try_from(flags & 0xFFFF_FFFF).unwrap_or_default());
        let mut sent = 0;
        for turn in 0..count.unwrap_or(1).min(MESSAGES) {
            let from = at.saturating_add(turn * Message::STRIDE);
            let message = Message::read(held, from)?;
            let done = match &message.to {
                Some(to) if !self.reaches(held, to, false) => Err(Errno::ACCESS),
                Some(to) => rustix::net::sendto(&socket, &message.content, flags, to),
                None => rustix::net::send(&socket, &message.content, flags),
            };
            match (done, count) {
                (Ok(bytes), None) => return Ok(Fate::Done(Ok(i64::try_from(bytes).unwrap_or(i64::MAX)))),
                (Ok(bytes), Some(_)) => {
                    let told = u32::try_from(bytes).unwrap_or(u32::MAX).to_ne_bytes();
                    held.write(from.saturating_add(Message::LENGTH_AT), &told)?;
                    sent += 1;
                }
                (Err(error), _) if sent == 0 => return Ok(Fate::Done(Err(error))),
                (Err(_), _) => break,
            }
        }
        Ok(Fate::Done(Ok(sent)))
    }
}

/// `struct msghdr`, as far as a datagram goes.
struct Message {
    to: Option<SocketAddr>,
    content: Vec<u8>,
}

impl Message {
    /// From one `struct mmsghdr` to the next, and where in it the length is told.
    const STRIDE: u64 = 64;
    const LENGTH_AT: u64 = 56;

    fn read(held: &Held, at: u64) -> io::Result<Self> {
        let head = held.read(at, 32)?;
        let word = |bytes: &[u8], place: usize| -> io::Result<u64> {
            let bytes = bytes.get(place * 8..place * 8 + 8).and_then(|word| word.try_into().ok());
            bytes.map(u64::from_ne_bytes).ok_or_else(|| Errno::FAULT.into())
        };
        let (name, length) = (word(&head, 0)?, word(&head, 1)? & 0xFFFF_FFFF);
        let to = match (name, length) {
            (0, _) | (_, 0) => None,
            _ => Some(inet(&held.read(name, length.min(128))?).ok_or(Errno::AFNOSUPPORT)?),
        };
        let (parts, count) = (word(&head, 2)?, word(&head, 3)?.min(PARTS));
        let list = held.read(parts, count * 16)?;
        let mut content = Vec::new();
        for part in 0..usize::try_from(count).unwrap_or_default() {
            content.extend(held.read(word(&list, part * 2)?, word(&list, part * 2 + 1)?)?);
            if content.len() > DATAGRAM {
                return Err(Errno::MSGSIZE.into());
            }
        }
        Ok(Self { to, content })
    }
}

/// An address of version 4 or 6 as the kernel is given it.
pub(super) fn inet(address: &[u8]) -> Option<SocketAddr> {
    let family = u16::from_ne_bytes(address.get(..2)?.try_into().ok()?);
    let port = u16::from_be_bytes(address.get(2..4)?.try_into().ok()?);
    match family {
        2 => {
            let ip: [u8; 4] = address.get(4..8)?.try_into().ok()?;
            Some(SocketAddr::new(Ipv4Addr::from(ip).into(), port))
        }
        10 => {
            let flow = u32::from_be_bytes(address.get(4..8)?.try_into().ok()?);
            let ip: [u8; 16] = address.get(8..24)?.try_into().ok()?;
            let scope = address.get(24..28).and_then(|scope| Some(u32::from_ne_bytes(scope.try_into().ok()?)));
            Some(SocketAddrV6::new(Ipv6Addr::from(ip), port, flow, scope.unwrap_or_default()).into())
        }
        _ => None,
    }
}

/// Whether an address is one of those that names are looked up at.
fn is_nameserver(address: IpAddr) -> bool {
    let text = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    let mut named = text.lines().filter_map(|line| line.trim().strip_prefix("nameserver"));
    named.any(|one| one.trim().parse() == Ok(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_the_kernel_is_given_them() {
        let four = [2, 0, 0x01, 0xBB, 10, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(inet(&four).map(|to| to.to_string()), Some("10.0.0.7:443".into()));
        let mut six = [0; 28];
        six[0] = 10;
        six[3] = 80;
        six[23] = 1;
        assert_eq!(inet(&six).map(|to| to.to_string()), Some("[::1]:80".into()));
        assert_eq!(inet(&six[..20]), None);
        assert_eq!(inet(&[1, 0, 47]), None);
        assert_eq!(inet(&[]), None);
    }
}
