/** How many leading bits of an IPv6 address identify one caller, and one network. For IPv4 these are the whole address and a /24. */

/** A subnet of IPv6 is a /64 (RFC 7421), and its holder can use every address in it. */
export const CALLER_BITS = 64
/** A site is usually given a /48 to a /56 (RFC 6177). */
export const NETWORK_BITS = 48
