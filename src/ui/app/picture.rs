//! A figure that a step shows, made small enough to be drawn with half blocks.

use std::io::Cursor;
use std::sync::Arc;

/// Columns of the screen that a picture takes where there are so many.
pub const COLUMNS: usize = 72;
/// Most rows of the screen that it takes.
pub const ROWS: usize = 30;
/// Most dots of a picture that is looked at, and most bytes that it may take while it is.
const DOTS: usize = 40_000_000;
const BYTES: usize = 256 << 20;

/// A small picture. Each row of the screen shows two rows of dots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Columns and rows as it came.
    pub size: (u32, u32),
    width: usize,
    height: usize,
    /// Red, green and blue of each dot, row by row.
    dots: Arc<[[u8; 3]]>,
}

impl Picture {
    /// A picture from the bytes of a PNG file, which are hostile.
    ///
    /// # Errors
    /// Why it can't be shown, in words.
    pub fn png(bytes: &[u8]) -> Result<Self, String> {
        let limits = png::Limits { bytes: BYTES };
        let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), limits);
        decoder.set_transformations(png::Transformations::normalize_to_color8());
        let mut reader = decoder.read_info().map_err(|error| error.to_string())?;
        let size = reader.info().size();
        let all = (size.0 as usize).saturating_mul(size.1 as usize);
        let room = reader.output_buffer_size().filter(|_| all <= DOTS && all > 0).ok_or("it is too large")?;
        let mut buffer = vec![0; room];
        let frame = reader.next_frame(&mut buffer).map_err(|error| error.to_string())?;
        let samples = frame.color_type.samples();
        let mut dots: Vec<[u8; 3]> = Vec::with_capacity(all);
        for row in buffer.chunks(frame.line_size.max(1)).take(size.1 as usize) {
            dots.extend(row.chunks_exact(samples).take(size.0 as usize).map(dot));
        }
        if dots.len() != all {
            return Err("it is cut off".to_owned());
        }
        Ok(Self { size, ..Self::small(size.0 as usize, size.1 as usize, &dots) })
    }

    /// The picture with so many columns of dots as the screen shows of it, or fewer.
    fn small(width: usize, height: usize, dots: &[[u8; 3]]) -> Self {
        let mut columns = COLUMNS.min(width).max(1);
        let mut rows = (height * columns / width.max(1)).max(1);
        if rows > 2 * ROWS {
            columns = (columns * 2 * ROWS / rows).max(1);
            rows = 2 * ROWS;
        }
        let picture = Self { size: (0, 0), width, height, dots: dots.into() };
        let small =
            (0..rows).flat_map(|y| (0..columns).map(move |x| (x, y))).map(|(x, y)| picture.mean(x, y, columns, rows));
        Self { size: (0, 0), width: columns, height: rows, dots: small.collect() }
    }

    /// The mean of the dots that one of `columns` by `rows` parts has.
    fn mean(&self, x: usize, y: usize, columns: usize, rows: usize) -> [u8; 3] {
        let span = |at: usize, parts: usize, all: usize| {
            let from = at * all / parts.max(1);
            (from, ((at + 1) * all).div_ceil(parts.max(1)).clamp(from + 1, all.max(from + 1)))
        };
        let ((left, right), (top, bottom)) = (span(x, columns, self.width), span(y, rows, self.height));
        let (mut sums, mut count) = ([0_u64; 3], 0_u64);
        for row in top..bottom {
            let from = row * self.width;
            for dot in self.dots.get(from + left..(from + right).min(self.dots.len())).unwrap_or_default() {
                sums.iter_mut().zip(dot).for_each(|(sum, part)| *sum += u64::from(*part));
                count += 1;
            }
        }
        sums.map(|sum| u8::try_from(sum / count.max(1)).unwrap_or(u8::MAX))
    }

    /// How many rows of the screen it takes.
    pub fn rows(&self) -> usize {
        self.height.div_ceil(2)
    }

    /// The upper and the lower dot of each column in a row of the screen that is `width` columns wide.
    pub fn row(&self, row: usize, width: usize) -> Vec<([u8; 3], [u8; 3])> {
        let columns = width.min(self.width).max(1);
        let rows = (self.height * columns / self.width.max(1)).max(1);
        if 2 * row >= rows {
            return Vec::new();
        }
        let dot = |x, y: usize| self.mean(x, y.min(rows - 1), columns, rows);
        (0..columns).map(|x| (dot(x, 2 * row), dot(x, 2 * row + 1))).collect()
    }
}

/// A dot over white paper.
fn dot(samples: &[u8]) -> [u8; 3] {
    let over = |part: u8, alpha: u8| {
        let mixed = (u32::from(part) * u32::from(alpha) + 255 * (255 - u32::from(alpha))) / 255;
        u8::try_from(mixed).unwrap_or(u8::MAX)
    };
    match *samples {
        [grey] => [grey; 3],
        [grey, alpha] => [over(grey, alpha); 3],
        [r, g, b] => [r, g, b],
        [r, g, b, alpha] => [over(r, alpha), over(g, alpha), over(b, alpha)],
        _ => [0; 3],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A PNG file of one colour a column.
    fn file(width: u32, height: u32, column: impl Fn(u32) -> [u8; 4]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, width, height);
        encoder.set_color(png::ColorType::Rgba);
        let mut writer = encoder.write_header().unwrap();
        let dots: Vec<u8> = (0..height).flat_map(|_| (0..width).flat_map(&column)).collect();
        writer.write_image_data(&dots).unwrap();
        drop(writer);
        bytes
    }

    #[test]
    fn a_picture_is_made_small_and_fits_where_there_is_less_room() {
        let bytes = file(144, 36, |x| if x < 72 { [255, 0, 0, 255] } else { [0, 0, 0, 0] });
        let picture = Picture::png(&bytes).unwrap();
        assert_eq!((picture.size, picture.rows()), ((144, 36), 9));
        let row = picture.row(8, 200);
        assert_eq!((row.len(), row[0], row[71]), (72, ([255, 0, 0], [255, 0, 0]), ([255; 3], [255; 3])));
        assert_eq!((picture.row(0, 10).len(), picture.row(8, 10)), (10, vec![]));
        assert_eq!(Picture::png(&file(2, 4000, |_| [9; 4])).unwrap().rows(), ROWS);
    }

    #[test]
    fn what_is_no_picture_says_why() {
        assert!(Picture::png(b"no").is_err());
        let mut bytes = file(40, 40, |_| [0; 4]);
        bytes.truncate(bytes.len() / 2);
        assert!(Picture::png(&bytes).is_err());
        // It says that it is as large as a wall.
        let mut bytes = file(4, 4, |_| [0; 4]);
        bytes[16..24].copy_from_slice(&[0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff]);
        assert!(Picture::png(&bytes).is_err());
    }
}
