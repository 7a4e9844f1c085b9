// Tables of the document, whose rows are changed in place: focus and a reader's place stay.

// What is shown of a long list.
const ROWS_MAX = 200;

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) {
    made.setAttribute(attribute, value);
  }
  made.append(...children);
  return made;
}

let labels = 0;

// Names a part of the page by a text within it.
export function label(place, text, attributes = {}) {
  labels += 1;
  text.id ||= `label-${labels}`;
  Object.entries({ 'aria-labelledby': text.id, ...attributes }).forEach(([name, value]) => place.setAttribute(name, value));
}

export const at = (id) => document.getElementById(id);
export const on = (id, event, does) => at(id).addEventListener(event, does);
export const tell = (id, text) => say(at(id), text);

// Changes a text only where it is another, for who listens.
export function say(place, text) {
  if (place.textContent !== text) {
    place.textContent = text;
  }
}

// The column of a number that rows have by this name.
export function figure(title, name, shown, isPart) {
  const value = (row) => row[name];
  return { title, value, text: (row) => shown(value(row)), meter: isPart && value };
}

// A column: `title`; `text(row)`; where it is a number, `value(row)`, by which rows are sorted; where it is a part of a whole, `meter(row)` from 0 to 1 or null;
// `button` where the text is a button's; `data(row)`, the cell's data attributes, and `own(row)`, its colour, for the style sheet.
// `most` of a list: the rows that are shown.
export class List {
  constructor(table, { columns, key, empty, sorted, most = ROWS_MAX }) {
    Object.assign(this, { table, columns, key, rows: new Map(), shown: [], sorted, most });
    label(table.parentElement, table.caption, { role: 'region', tabindex: 0 });
    this.head = element('tr');
    this.heads = columns.map((column, index) => this.makeHead(column, index));
    this.head.append(...this.heads);
    this.body = element('tbody');
    this.note = element('p', { class: 'note' });
    table.append(element('thead', {}, this.head), this.body);
    table.after(this.note);
    this.empty = empty;
    this.showOrder();
  }

  makeHead(column, index) {
    const head = element('th', { scope: 'col' });
    head.classList.toggle('number', Boolean(column.value));
    if (!this.sorted) {
      head.append(column.title);
      return head;
    }
    const button = element('button', { type: 'button', class: 'sort' }, column.title);
    button.addEventListener('click', () => this.sortBy(index));
    head.append(button);
    return head;
  }

  sortBy(index) {
    const first = this.columns[index].value ? 'descending' : 'ascending';
    const other = first === 'ascending' ? 'descending' : 'ascending';
    this.sorted = { index, order: this.sorted.index === index && this.sorted.order === first ? other : first };
    this.showOrder();
    this.update(this.shown);
  }

  showOrder() {
    this.heads.forEach((head, index) => {
      if (this.sorted?.index === index) {
        head.setAttribute('aria-sort', this.sorted.order);
      } else {
        head.removeAttribute('aria-sort');
      }
    });
  }

  inOrder(rows) {
    if (!this.sorted) {
      return rows;
    }
    const column = this.columns[this.sorted.index];
    const sign = this.sorted.order === 'ascending' ? 1 : -1;
    const compared = column.value
      ? (one, other) => (column.value(one) ?? -Infinity) - (column.value(other) ?? -Infinity)
      : (one, other) => column.text(one).localeCompare(column.text(other));
    // What is equal stays in the order of its keys, so that rows do not jump.
    return [...rows].sort((one, other) => sign * compared(one, other) || (this.key(one) < this.key(other) ? -1 : 1));
  }

  update(rows) {
    this.shown = rows;
    const wanted = this.inOrder(rows).slice(0, Math.min(this.most, ROWS_MAX));
    const keys = new Set(wanted.map(this.key));
    const focused = this.body.contains(document.activeElement) ? document.activeElement : null;
    for (const [key, line] of this.rows) {
      if (!keys.has(key)) {
        line.remove();
        this.rows.delete(key);
      }
    }
    wanted.forEach((row, place) => {
      const line = this.lineOf(row);
      if (this.body.children[place] !== line) {
        this.body.insertBefore(line, this.body.children[place] ?? null);
      }
      this.columns.forEach((column, index) => fill(line.children[index], column, row));
    });
    // A row that is moved loses the focus.
    if (focused?.isConnected && document.activeElement !== focused) {
      focused.focus({ preventScroll: true });
    }
    const left = rows.length - wanted.length;
    say(this.note, rows.length === 0 ? this.empty : left > 0 ? `and ${left} more` : '');
  }

  lineOf(row) {
    const key = this.key(row);
    let line = this.rows.get(key);
    if (!line) {
      line = element('tr');
      this.columns.forEach((column, index) => {
        const cell = index === 0 ? element('th', { scope: 'row' }) : element('td');
        cell.classList.toggle('number', Boolean(column.value));
        cell.classList.toggle('code', Boolean(column.code));
        if (column.meter) {
          cell.append(element('meter', { 'aria-hidden': true }), ' ', element('span'));
        }
        if (column.button) {
          cell.append(element('button', { type: 'button' }));
        }
        line.append(cell);
      });
      this.rows.set(key, line);
    }
    return line;
  }
}

function fill(cell, column, row) {
  Object.assign(cell.dataset, column.data?.(row));
  cell.style.setProperty('--own', column.own?.(row) ?? '');
  if (column.meter) {
    const part = column.meter(row);
    cell.firstElementChild.hidden = !Number.isFinite(part);
    cell.firstElementChild.value = part ?? 0;
  }
  say(column.meter || column.button ? cell.lastElementChild : cell, column.text(row));
}
