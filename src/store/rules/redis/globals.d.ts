/** The parts of Redis's Lua that rules use. */
declare function tonumber(this: void, value: unknown): number | undefined
declare function type(this: void, value: unknown): string
declare function pcall(this: void, f: unknown, ...args: ReadonlyArray<unknown>): LuaMultiReturn<[boolean, unknown]>
declare function ipairs<T>(this: void, list: ReadonlyArray<T>): LuaIterable<LuaMultiReturn<[number, T]>>
declare function pairs(this: void, table: object): LuaIterable<LuaMultiReturn<[string, unknown]>>
declare function unpack(this: void, list: ReadonlyArray<number | string>): LuaMultiReturn<Array<number | string>>
declare const math: { readonly huge: number }
declare const string: {
  format(this: void, format: string, value: number): string
  gmatch(this: void, text: string, pattern: string): LuaIterable<string>
  find(this: void, text: string, part: string, from: number, plain: true): LuaMultiReturn<[number | undefined]>
  sub(this: void, text: string, from: number, to?: number): string
}
declare const table: { sort(this: void, list: ReadonlyArray<number>): void }
declare const KEYS: ReadonlyArray<string>
declare const cjson: { encode(this: void, value: unknown): string; decode(this: void, text: string): unknown }
declare const redis: {
  call(this: void, ...args: ReadonlyArray<number | string>): unknown
  sha1hex(this: void, text: string): string
}
