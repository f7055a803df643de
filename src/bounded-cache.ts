/**
 * An LRU cache of at most so many entries, whose memory grows with what is in it. `lru-cache` with `max` makes arrays of that
 * length at once: ten caches of 10,000 cost a start 30 ms and 3 MB.
 */
import { LRUCache } from "lru-cache"

/** @param most entries; when there are more, the one that was not used for longest is removed */
export const boundedCache = <V extends {}>(most: number): LRUCache<string, V> =>
  new LRUCache({ maxSize: most, sizeCalculation: () => 1 })
