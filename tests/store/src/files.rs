//! Files in memory. Those that are disks remember what each sector held when it was last flushed; a power cut gives some of them
//! that content back, and what was the disk is dead from then on. All others fail where they are told to.

use std::collections::{BTreeMap, HashMap};

use rustix::io::Errno;

use crate::planned::{Planned, Request};
use crate::sectors::Disk;
use crate::wire::Attributes;

const FOLDER: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
pub const ROOT: u64 = 1;

/// All files.
#[derive(Debug)]
pub struct Files {
    nodes: HashMap<u64, Node>,
    next: u64,
    pub faults: Planned,
    /// Of the disk that has power.
    pub power: Power,
}

#[derive(Debug)]
struct Node {
    content: Content,
    mode: u32,
    owner: (u32, u32),
    /// How often the kernel knows it.
    known: u64,
    has_name: bool,
}

#[derive(Debug)]
enum Content {
    Folder(BTreeMap<String, u64>),
    File(Vec<u8>),
    Disk(Disk),
}

/// When the power of the disk goes, and what came of it.
#[derive(Debug, Default)]
pub struct Power {
    disk: u64,
    /// Requests until the cut, chance of each sector to be lost in 1/100, seed.
    armed: Option<(u64, u64, u64)>,
    /// Whether flushes do nothing.
    pub lies: bool,
    disks: u64,
    pub cut: Option<Cut>,
}

/// What a power cut left.
#[derive(Debug, Clone)]
pub struct Cut {
    /// File of the disk after it.
    pub name: String,
    pub unflushed: usize,
    pub lost: usize,
}

impl Files {
    pub fn new() -> Self {
        let root = Node {
            content: Content::Folder(BTreeMap::new()),
            mode: FOLDER | 0o755,
            owner: (0, 0),
            known: 1,
            has_name: true,
        };
        let nodes = HashMap::from([(ROOT, root)]);
        Self { nodes, next: ROOT + 1, faults: Planned::default(), power: Power::default() }
    }

    /// Puts a disk with this content into the root, with power. Returns its name.
    pub fn add_disk(&mut self, bytes: Vec<u8>) -> String {
        self.power.disks += 1;
        let name = format!("disk-{}", self.power.disks);
        let disk = Disk::new(bytes);
        // One that is not used any more goes as soon as the kernel lets go of it.
        if let Some(Node { content: Content::Folder(entries), .. }) = self.nodes.get_mut(&ROOT) {
            let former = entries.extract_if(.., |name, _| name.starts_with("disk-"));
            let former: Vec<u64> = former.map(|(_, node)| node).collect();
            for node in former {
                self.lose_name(node);
            }
        }
        self.power.disk = self.add(ROOT, &name, Content::Disk(disk), FILE | 0o600, (0, 0)).map_or(0, |made| made.node);
        self.power.armed = None;
        name
    }

    /// Cuts the power after so many writes and flushes from now.
    pub fn arm(&mut self, requests: u64, percent: u64, seed: u64) {
        self.power.armed = Some((requests.max(1), percent, seed));
        self.power.cut = None;
    }

    /// Cuts the power now, if it was not cut since it was armed.
    pub fn cut(&mut self, percent: u64, seed: u64) -> Option<Cut> {
        if self.power.cut.is_none()
            && let Some(Node { content: Content::Disk(disk), .. }) = self.nodes.get_mut(&self.power.disk)
        {
            let (bytes, unflushed, lost) = disk.cut(percent, seed);
            let name = self.add_disk(bytes);
            self.power.cut = Some(Cut { name, unflushed, lost });
        }
        self.power.cut.clone()
    }

    fn count_down(&mut self, disk: u64) {
        if disk == self.power.disk
            && let Some((left, percent, seed)) = &mut self.power.armed
        {
            *left -= 1;
            let (percent, seed) = (*percent, *seed);
            if *left == 0 {
                self.power.armed = None;
                self.cut(percent, seed);
            }
        }
    }

    fn node(&self, node: u64) -> Result<&Node, Errno> {
        self.nodes.get(&node).ok_or(Errno::STALE)
    }

    fn node_mut(&mut self, node: u64) -> Result<&mut Node, Errno> {
        self.nodes.get_mut(&node).ok_or(Errno::STALE)
    }

    fn folder(&mut self, node: u64) -> Result<&mut BTreeMap<String, u64>, Errno> {
        match &mut self.node_mut(node)?.content {
            Content::Folder(entries) => Ok(entries),
            _ => Err(Errno::NOTDIR),
        }
    }

    pub fn is_disk(&self, node: u64) -> bool {
        self.node(node).is_ok_and(|node| matches!(node.content, Content::Disk(_)))
    }

    pub fn attributes(&self, id: u64) -> Result<Attributes, Errno> {
        let node = self.node(id)?;
        let (bytes, valid) = match &node.content {
            Content::Folder(_) => (0, 0),
            Content::File(bytes) => (bytes.len(), 0),
            Content::Disk(disk) => (disk.len(), 3_600),
        };
        let (uid, gid) = node.owner;
        Ok(Attributes { node: id, bytes: bytes as u64, mode: node.mode, uid, gid, valid })
    }

    /// Finds a name, which the kernel then knows.
    pub fn look_up(&mut self, parent: u64, name: &str) -> Result<Attributes, Errno> {
        let node = *self.folder(parent)?.get(name).ok_or(Errno::NOENT)?;
        self.node_mut(node)?.known += 1;
        self.attributes(node)
    }

    pub fn forget(&mut self, node: u64, times: u64) {
        if let Some(known) = self.nodes.get_mut(&node) {
            known.known = known.known.saturating_sub(times);
        }
        self.drop_unknown(node);
    }

    fn drop_unknown(&mut self, node: u64) {
        if self.nodes.get(&node).is_some_and(|node| node.known == 0 && !node.has_name) {
            self.nodes.remove(&node);
        }
    }

    fn lose_name(&mut self, node: u64) {
        if let Some(known) = self.nodes.get_mut(&node) {
            known.has_name = false;
        }
        self.drop_unknown(node);
    }

    fn add(
        &mut self,
        parent: u64,
        name: &str,
        content: Content,
        mode: u32,
        owner: (u32, u32),
    ) -> Result<Attributes, Errno> {
        let id = self.next;
        let entries = self.folder(parent)?;
        if entries.contains_key(name) {
            return Err(Errno::EXIST);
        }
        entries.insert(name.to_owned(), id);
        self.next += 1;
        self.nodes.insert(id, Node { content, mode, owner, known: 0, has_name: true });
        self.attributes(id)
    }

    pub fn make(&mut self, parent: u64, name: &str, is_folder: bool, mode: u32) -> Result<Attributes, Errno> {
        self.faults.strike(Request::Name)?;
        let (content, kind) =
            if is_folder { (Content::Folder(BTreeMap::new()), FOLDER) } else { (Content::File(Vec::new()), FILE) };
        self.add(parent, name, content, kind | mode & 0o7777, (0, 0))?;
        self.look_up(parent, name)
    }

    pub fn remove(&mut self, parent: u64, name: &str) -> Result<(), Errno> {
        self.faults.strike(Request::Name)?;
        let node = *self.folder(parent)?.get(name).ok_or(Errno::NOENT)?;
        if matches!(&self.node(node)?.content, Content::Folder(entries) if !entries.is_empty()) {
            return Err(Errno::NOTEMPTY);
        }
        self.folder(parent)?.remove(name);
        self.lose_name(node);
        Ok(())
    }

    pub fn rename(&mut self, from: (u64, &str), to: (u64, &str)) -> Result<(), Errno> {
        self.faults.strike(Request::Name)?;
        let node = self.folder(from.0)?.remove(from.1).ok_or(Errno::NOENT)?;
        if let Some(former) = self.folder(to.0)?.insert(to.1.to_owned(), node) {
            self.lose_name(former);
        }
        Ok(())
    }

    pub fn list(&self, node: u64) -> Result<Vec<(String, u64, bool)>, Errno> {
        let Content::Folder(entries) = &self.node(node)?.content else { return Err(Errno::NOTDIR) };
        let is_folder = |node: &u64| self.node(*node).is_ok_and(|node| matches!(node.content, Content::Folder(_)));
        Ok(entries.iter().map(|(name, node)| (name.clone(), *node, is_folder(node))).collect())
    }

    pub fn set_mode(&mut self, node: u64, mode: u32) -> Result<(), Errno> {
        let node = self.node_mut(node)?;
        node.mode = node.mode & !0o7777 | mode & 0o7777;
        Ok(())
    }

    pub fn set_len(&mut self, node: u64, len: u64) -> Result<(), Errno> {
        self.faults.strike(Request::Write)?;
        let len = usize::try_from(len).map_err(|_| Errno::FBIG)?;
        match &mut self.node_mut(node)?.content {
            Content::File(bytes) => bytes.resize(len, 0),
            _ => return Err(Errno::INVAL),
        }
        Ok(())
    }

    /// Makes a file as long as that at least.
    pub fn allocate(&mut self, node: u64, len: u64) -> Result<(), Errno> {
        let len = len.max(self.attributes(node)?.bytes);
        self.set_len(node, len)
    }

    pub fn read(&mut self, node: u64, offset: u64, len: usize) -> Result<&[u8], Errno> {
        let offset = usize::try_from(offset).map_err(|_| Errno::FBIG)?;
        if !self.is_disk(node) {
            self.faults.strike(Request::Read)?;
        }
        let bytes = match &self.node(node)?.content {
            Content::Folder(_) => return Err(Errno::ISDIR),
            Content::File(bytes) => bytes,
            Content::Disk(disk) => disk.bytes()?,
        };
        Ok(&bytes[offset.min(bytes.len())..(offset + len).min(bytes.len())])
    }

    pub fn write(&mut self, node: u64, offset: u64, data: &[u8]) -> Result<(), Errno> {
        let offset = usize::try_from(offset).map_err(|_| Errno::FBIG)?;
        if self.is_disk(node) {
            self.count_down(node);
        } else {
            self.faults.strike(Request::Write)?;
        }
        let end = offset + data.len();
        match &mut self.node_mut(node)?.content {
            Content::Folder(_) => Err(Errno::ISDIR),
            Content::File(bytes) => {
                bytes.resize(bytes.len().max(end), 0);
                bytes[offset..end].copy_from_slice(data);
                Ok(())
            }
            Content::Disk(disk) => disk.write(offset, data),
        }
    }

    pub fn sync(&mut self, node: u64) -> Result<(), Errno> {
        if self.is_disk(node) {
            self.count_down(node);
        } else {
            self.faults.strike(Request::Sync)?;
        }
        let lies = self.power.lies;
        match &mut self.node_mut(node)?.content {
            Content::Disk(disk) => disk.flush(lies),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Files, ROOT};
    use crate::sectors::SECTOR;

    fn disk() -> (Files, u64) {
        let mut files = Files::new();
        let name = files.add_disk(vec![1; 8 * SECTOR]);
        let node = files.look_up(ROOT, &name).unwrap().node;
        (files, node)
    }

    /// First bytes of the sectors after the cut.
    fn left(files: &mut Files) -> Vec<u8> {
        let name = files.power.cut.clone().unwrap().name;
        let node = files.look_up(ROOT, &name).unwrap().node;
        files.read(node, 0, 8 * SECTOR).unwrap().iter().step_by(SECTOR).copied().collect()
    }

    #[test]
    fn a_cut_loses_what_was_not_flushed_and_nothing_else() {
        for (percent, left_over) in [(100, 1), (0, 3)] {
            let (mut files, disk) = disk();
            files.write(disk, 0, &[2; SECTOR]).unwrap();
            files.sync(disk).unwrap();
            files.write(disk, SECTOR as u64, &[3; SECTOR]).unwrap();
            let cut = files.cut(percent, 7).unwrap();
            assert_eq!((cut.unflushed, cut.lost), (1, usize::from(percent == 100)));
            assert_eq!(left(&mut files)[..3], [2, left_over, 1]);
            assert!(files.write(disk, 0, &[4]).is_err() && files.read(disk, 0, 1).is_err(), "it has no power");
        }
    }

    #[test]
    fn an_armed_cut_comes_at_its_request_and_a_half_keeps_a_part() {
        let (mut files, disk) = disk();
        files.arm(8, 50, 3);
        for sector in 0..7 {
            files.write(disk, sector * SECTOR as u64, &[2; SECTOR]).unwrap();
        }
        assert!(files.power.cut.is_none());
        assert!(files.sync(disk).is_err(), "the flush that the cut overtakes is not acknowledged");
        let cut = files.power.cut.clone().unwrap();
        assert_eq!(cut.unflushed, 7);
        assert!(cut.lost > 0 && cut.lost < 7, "{cut:?}");
        let as_before: usize = left(&mut files).iter().map(|byte| usize::from(*byte == 1)).sum();
        assert_eq!(as_before, cut.lost + 1);
    }

    #[test]
    fn a_disk_that_lies_loses_what_it_said_was_flushed() {
        let (mut files, disk) = disk();
        files.power.lies = true;
        files.write(disk, 0, &[2; SECTOR]).unwrap();
        files.sync(disk).unwrap();
        files.cut(100, 1).unwrap();
        assert_eq!(left(&mut files)[0], 1);
    }
}
