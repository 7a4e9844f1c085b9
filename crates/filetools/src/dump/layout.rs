//! JSON laid out as `sstabledump` lays it out: an entry to a line, but objects that are said to be compact on one.

/// JSON that grows.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    out: String,
    open: Vec<Open>,
}

/// An object or a list that has not ended.
#[derive(Debug)]
struct Open {
    is_list: bool,
    is_compact: bool,
    has_entries: bool,
}

impl Layout {
    /// How much there is to take, bytes.
    pub(crate) fn len(&self) -> usize {
        self.out.len()
    }

    /// Takes what there is.
    pub(crate) fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    pub(crate) fn begin_object(&mut self) {
        self.begin('{', false);
    }

    /// An object on one line. Within one all further ones are.
    pub(crate) fn begin_compact_object(&mut self) {
        self.begin('{', true);
    }

    pub(crate) fn begin_list(&mut self) {
        self.begin('[', false);
    }

    fn begin(&mut self, bracket: char, is_compact: bool) {
        self.out.push(bracket);
        self.open.push(Open { is_list: bracket == '[', is_compact, has_entries: false });
    }

    /// What is open goes on line by line.
    pub(crate) fn spread(&mut self) {
        if let Some(open) = self.open.last_mut() {
            open.is_compact = false;
        }
    }

    pub(crate) fn end_object(&mut self) {
        self.end('}');
    }

    pub(crate) fn end_list(&mut self) {
        self.end(']');
    }

    fn end(&mut self, bracket: char) {
        let ended = self.open.pop().expect("what ends was begun");
        match ended.has_entries && !ended.is_compact {
            true => self.line(),
            false => self.out.push(' '),
        }
        self.out.push(bracket);
    }

    /// Begins an entry of a list.
    pub(crate) fn entry(&mut self) {
        let open = self.open.last_mut().expect("entries are of something");
        let is_compact = open.is_compact;
        if std::mem::replace(&mut open.has_entries, true) {
            self.out.push(',');
        }
        match is_compact {
            true => self.out.push(' '),
            false => self.line(),
        }
    }

    /// Begins an entry of an object.
    pub(crate) fn field(&mut self, name: &str) {
        debug_assert!(self.open.last().is_some_and(|open| !open.is_list), "fields are an object's");
        self.entry();
        self.string(name);
        self.out.push_str(" : ");
    }

    pub(crate) fn string(&mut self, text: &str) {
        crate::text::write_string(text, &mut self.out);
    }

    /// JSON as it is.
    pub(crate) fn raw(&mut self, json: &str) {
        self.out.push_str(json);
    }

    /// A list on one line.
    pub(crate) fn compact_list(&mut self, entries: impl Iterator<Item = String>) {
        self.begin('[', true);
        for entry in entries {
            self.entry();
            self.raw(&entry);
        }
        self.end_list();
    }

    fn line(&mut self) {
        self.out.push('\n');
        self.out.push_str(&"  ".repeat(self.open.len()));
    }
}
