//! `/proc/self/cgroup`: the folders whose limits hold for this process.

/// A controller, by its name of version 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Controller {
    Cpu,
    Memory,
}

impl Controller {
    fn name(self) -> &'static str {
        match self {
            Controller::Cpu => "cpu",
            Controller::Memory => "memory",
        }
    }
}

/// Deeper than cgroups are nested.
const DEPTH_MAX: usize = 64;

/// The folders of a controller from the process's own to the root's, each with whether it is of version 2. In a container the path may name
/// a folder of the host that is not visible here; the root always is.
pub(crate) fn folders(text: &str, controller: Controller) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    for line in text.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let is_second = controllers.is_empty();
        if !is_second && !controllers.split(',').any(|name| name == controller.name()) {
            continue;
        }
        // In version 1 the folder has the names of all that are mounted together, and there is a link with the name of each.
        let mount =
            if is_second { "/sys/fs/cgroup".to_owned() } else { format!("/sys/fs/cgroup/{}", controller.name()) };
        // A path with `..` leads out of what was mounted here, to what is not visible.
        let path: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let depth = if path.contains(&"..") { 0 } else { path.len().min(DEPTH_MAX) };
        for length in (0..=depth).rev() {
            let folder = path[..length].iter().fold(mount.clone(), |folder, part| format!("{folder}/{part}"));
            found.push((folder, is_second));
        }
    }
    found
}
