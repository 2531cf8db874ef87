//! The members of a ZIP archive, one at a time and bounded.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use rawzip::{CompressionMethod, FileReader, RECOMMENDED_BUFFER_SIZE, ZipArchive, ZipArchiveEntryWayfinder};

/// The largest member that is read, in bytes unpacked: a small archive can hold an endless one.
const LARGEST_MEMBER: u64 = 4 << 30;

/// Most members that are looked at.
const MOST_MEMBERS: usize = 200_000;

/// An opened archive.
pub struct Archive {
    archive: ZipArchive<FileReader>,
    members: Vec<Member>,
}

struct Member {
    name: String,
    place: ZipArchiveEntryWayfinder,
    method: CompressionMethod,
}

impl Archive {
    /// Opens the archive at `path`. Only members that are stored or deflated can be read later.
    ///
    /// # Errors
    /// In words, where it is no archive that can be read.
    pub fn open(path: &Path) -> Result<Self, String> {
        let file = File::open(path).map_err(|error| error.to_string())?;
        let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
        let archive = ZipArchive::from_file(file, &mut buffer).map_err(|error| error.to_string())?;
        let mut members = Vec::new();
        let mut entries = archive.entries(&mut buffer);
        while members.len() < MOST_MEMBERS {
            match entries.next_entry() {
                Ok(Some(entry)) if !entry.is_dir() => members.push(Member {
                    name: String::from_utf8_lossy(entry.file_path().as_ref()).into_owned(),
                    place: entry.wayfinder(),
                    method: entry.compression_method(),
                }),
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(Self { archive, members })
    }

    /// The names of the members, in the order of the archive's directory.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|member| member.name.as_str())
    }

    /// The unpacked bytes of the member of this name.
    ///
    /// # Errors
    /// In words, where there is none, or it is packed in a way that is not known.
    pub fn read(&self, name: &str) -> Result<Box<dyn Read + '_>, String> {
        let member = self.members.iter().find(|member| member.name == name).ok_or("it is not in the archive")?;
        let entry = self.archive.get_entry(member.place).map_err(|error| error.to_string())?;
        let packed = BufReader::new(entry.reader());
        match member.method {
            CompressionMethod::STORE => Ok(Box::new(packed.take(LARGEST_MEMBER))),
            CompressionMethod::DEFLATE => {
                Ok(Box::new(flate2::bufread::DeflateDecoder::new(packed).take(LARGEST_MEMBER)))
            }
            CompressionMethod::ZSTD => {
                let unpacked = zstd::stream::read::Decoder::with_buffer(packed).map_err(|error| error.to_string())?;
                Ok(Box::new(unpacked.take(LARGEST_MEMBER)))
            }
            other => Err(format!("it is packed in a way that is not known: {other:?}")),
        }
    }
}
