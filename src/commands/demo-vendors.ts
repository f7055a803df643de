/** The vendors whose fake the demo can run. */
export const DEMO_VENDORS = ["livekit", "retell", "vapi", "elevenlabs", "ultravox", "generic"] as const
export type DemoVendor = (typeof DEMO_VENDORS)[number]
