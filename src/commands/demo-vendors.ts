/** The vendors whose fake the demo can run. */
import { VENDORS, type Vendor } from "../settings/groups/vendors.ts"

export const DEMO_VENDORS = VENDORS
export type DemoVendor = Vendor
