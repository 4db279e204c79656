//! The families of files. A new family is a directory and a line here.

use crate::error::ImportError;
use crate::family::{Family, InputFiles, Kind};
use crate::options::Options;
use crate::source::Source;

/// All families, in the order in which help lists them.
pub const FAMILIES: &[&Family] = &[
    &crate::htsim::FAMILY,
    &crate::goal::FAMILY,
    &crate::chakra::FAMILY,
    &crate::msccl::FAMILY,
    &crate::hpcc::FAMILY,
    &crate::sonic::FAMILY,
    &crate::simai::FAMILY,
    &crate::nccl::FAMILY,
];

/// The kind of a file. `None`: it is of no known kind.
///
/// # Errors
///
/// It cannot be read, or it could be of several kinds.
pub fn recognise(source: &Source) -> Result<Option<(&'static Family, &'static Kind)>, ImportError> {
    among(FAMILIES, source)
}

fn among(
    families: &[&'static Family],
    source: &Source,
) -> Result<Option<(&'static Family, &'static Kind)>, ImportError> {
    let head = source.head()?;
    let all = families.iter().flat_map(|family| family.kinds.iter().map(move |kind| (*family, kind)));
    let found: Vec<_> = all.filter(|(_, kind)| (kind.recognise)(&head)).collect();
    match found.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(*one)),
        several => {
            let names: Vec<&str> = several.iter().map(|(_, kind)| kind.name).collect();
            let reason = format!("it could be of several kinds: {}", names.join(", "));
            Err(source.error(reason).hint(format!("say which: --format {}", names[0])))
        }
    }
}

/// Files with their kinds, by content or by `options.format`.
pub(crate) fn recognised(sources: Vec<Source>, options: &Options) -> Result<InputFiles, ImportError> {
    let mut files = Vec::with_capacity(sources.len());
    for source in sources {
        let (family, kind) = kind_of(&source, options.format.as_deref())?;
        files.push((family, kind, source));
    }
    let Some((first, ..)) = files.first() else {
        return Err(ImportError::new("no file was given").hint("name at least one"));
    };
    let takes =
        |family: &Family, own: &Family, kind: &Kind| own.name == family.name || family.beside.contains(&kind.name);
    let goes = |family: &&'static Family| files.iter().all(|(own, kind, _)| takes(family, own, kind));
    let Some(family) = files.iter().map(|(family, ..)| *family).find(goes) else {
        let (own, _, source) = files.iter().find(|(own, kind, _)| !takes(first, own, kind)).unwrap_or(&files[0]);
        let reason = format!("a file of {}, and the ones before it are of {}", own.name, first.name);
        return Err(source.error(reason).hint("import files of different origin one after the other"));
    };
    let files = files.into_iter().map(|(_, kind, source)| (kind, source)).collect();
    Ok(InputFiles { family, files })
}

fn kind_of(source: &Source, format: Option<&str>) -> Result<(&'static Family, &'static Kind), ImportError> {
    let Some(format) = format else {
        return among(FAMILIES, source)?.ok_or_else(|| {
            let names: Vec<&str> = FAMILIES.iter().flat_map(|f| f.kinds).map(|kind| kind.name).collect();
            let hint = format!("--format says what it is: {}", names.join(", "));
            source.error("its content is of no kind that can be imported").hint(hint)
        });
    };
    for family in FAMILIES {
        if let Some(kind) = family.kinds.iter().find(|kind| kind.name == format) {
            return Ok((family, kind));
        }
        if family.name == format {
            return among(&[family], source)?.ok_or_else(|| {
                let names: Vec<&str> = family.kinds.iter().map(|kind| kind.name).collect();
                let reason = format!("its content is of no kind of {}", family.name);
                source.error(reason).hint(format!("--format says which it is: {}", names.join(", ")))
            });
        }
    }
    let names: Vec<&str> = FAMILIES.iter().map(|family| family.name).collect();
    Err(ImportError::new(format!("--format {format}: there is no such format"))
        .hint(format!("families are {}; `backwater list formats` names their kinds", names.join(", "))))
}
