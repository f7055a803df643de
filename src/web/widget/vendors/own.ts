/** A vendor that the widget does not know: the page's own module exports `connect`, which is given what the vendors' files here are. */
import { type Caller, type VendorCall, type VendorCredential, vendor } from "./vendor.ts"

export interface OwnSdk {
  readonly connect: (credential: VendorCredential, caller: Caller) => Promise<VendorCall>
}

export default vendor<OwnSdk>("a module that exports connect", "connect", ({ connect }, credential, caller) =>
  connect(credential, caller),
)
