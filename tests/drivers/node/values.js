'use strict';
// A type as CQL writes it, and values of it: empty, extreme, with nothing inside.
//
// This driver sends an empty list or set as null, wherever it stands, so that there is none inside of another value.

const { types } = require('cassandra-driver');

const { BigDecimal, Duration, InetAddress, Integer, LocalDate, LocalTime, Long, TimeUuid, Tuple, Uuid, Vector } = types;

const POWER = Integer.fromString(String(2n ** 200n));
const ONE = Uuid.fromString('00000000-0000-0000-0000-000000000001');
const ADDRESS = InetAddress.fromString;
const HOME = { street: 'Ἴλιον', number: 7, tags: new Set(['', 'old']) };
const BARE = { street: null, number: null, tags: null };
const FULL = { name: 'Helenus', home: HOME, phones: new Map([['work', '1']]), place: new Tuple(39.9, 26.2) };
const HALF = { name: '', home: BARE, phones: new Map(), place: null };

const SCALARS = [
  ['ascii', 'plain', '', "it's"],
  ['bigint', Long.MIN_VALUE, Long.ZERO, Long.MAX_VALUE],
  ['blob', Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)), Buffer.alloc(0)],
  ['boolean', true, false],
  ['date', new LocalDate(1970, 1, 1), new LocalDate(-4000, 2, 28), new LocalDate(9999, 12, 31)],
  ['decimal', BigDecimal.fromString('-123456789012345678901234567890.123'), new BigDecimal(Integer.ONE, -10), BigDecimal.fromString('0.000')],
  ['double', 0, -0, Number.MAX_VALUE, Number.MIN_VALUE, NaN, -Infinity],
  ['duration', new Duration(1, 2, Long.fromNumber(3)), new Duration(-14, -3, Long.fromNumber(-5e9))],
  ['float', 0, 1.5, NaN, Infinity],
  ['inet', ADDRESS('127.0.0.1'), ADDRESS('2001:db8::1'), ADDRESS('::')],
  ['int', -(2 ** 31), 0, 2 ** 31 - 1],
  ['smallint', -(2 ** 15), 0, 2 ** 15 - 1],
  ['text', 'Ὅμηρος 🏺', '', 'x'.repeat(100_000)],
  ['time', new LocalTime(Long.ZERO), LocalTime.fromString('23:59:59.999999999'), LocalTime.fromString('12:30:15.123456789')],
  ['timestamp', new Date(0), new Date(-1), new Date('9999-12-31T23:59:59.999Z')],
  ['timeuuid', TimeUuid.now(), TimeUuid.min(new Date(0))],
  ['tinyint', -128, 127],
  ['uuid', Uuid.fromString('00000000-0000-0000-0000-000000000000'), Uuid.random()],
  ['varchar', 'another name for text'],
  ['varint', Integer.ZERO, Integer.fromNumber(-129), POWER, POWER.negate()],
];

const COLLECTIONS = [
  ['list<int>', [3, 1, 3, -(2 ** 31)], []],
  ['set<text>', new Set(['', 'a', 'b']), new Set()],
  ['map<text, int>', new Map([['', 0], ['b', 2]]), new Map()],
  ['list<duration>', [new Duration(0, 0, Long.ONE)]],
  ['map<timestamp, inet>', new Map([[new Date(0), ADDRESS('::1')]])],
  ['frozen<list<text>>', ['b', 'a', ''], []],
  ['frozen<set<int>>', new Set([-1, 0, 1]), new Set()],
  ['frozen<map<int, boolean>>', new Map([[-1, true], [1, false]]), new Map()],
  ['list<frozen<list<int>>>', [[1, 2], [3]], []],
  ['set<frozen<set<int>>>', new Set([new Set([1]), new Set([1, 2])])],
  ['map<text, frozen<map<int, frozen<set<uuid>>>>>', new Map([['x', new Map([[1, new Set([ONE])], [2, new Set([ONE])]])], ['y', new Map()]])],
  ['frozen<map<frozen<list<int>>, frozen<list<text>>>>', new Map([[[1], ['']], [[1, 2], ['a']]])],
];

const MIXED = new Tuple(1, '', true);

const STRUCTURES = [
  ['tuple<int, text, boolean>', MIXED, new Tuple(null, 'x', null), new Tuple(null, null, null)],
  ['tuple<int, frozen<list<frozen<address>>>, frozen<tuple<int, text, boolean>>>', new Tuple(1, [HOME, BARE], MIXED), new Tuple(null, [BARE], null)],
  ['frozen<address>', HOME, BARE],
  ['frozen<person>', FULL, HALF],
  ['person', FULL, HALF],
  ['list<frozen<address>>', [HOME, BARE, HOME], []],
  ['set<frozen<tuple<int, text, boolean>>>', new Set([MIXED, new Tuple(2, null, null)])],
  ['map<text, frozen<person>>', new Map([['full', FULL], ['half', HALF]])],
  ['vector<float, 3>', new Vector([1.5, -0, -2])],
  ['vector<int, 2>', new Vector([-(2 ** 31), 2 ** 31 - 1])],
  ['vector<text, 3>', new Vector(['', 'a', 'ἄ'.repeat(200)])],
  ['vector<vector<double, 2>, 2>', new Vector([new Vector([1, 2]), new Vector([-3, 4])])],
  ['list<frozen<vector<float, 2>>>', [new Vector([1, 2]), new Vector([3, 4])]],
  ['vector<frozen<list<int>>, 2>', new Vector([[1, 2], [3]])],
];

module.exports = [...SCALARS, ...COLLECTIONS, ...STRUCTURES].map(([kind, ...values]) => ({ kind, values }));
