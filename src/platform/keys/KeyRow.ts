/** An API key as a row of the database. A new column begins with a step in `data/migrations.ts`. */
import { oneForm } from "../../lib/visible-text.ts"
import { type ApiKey, type KeyChange, type NewApiKey, PERMISSIONS, type Permission } from "./ApiKey.ts"
import { cleanAddresses } from "./KeyAddresses.ts"

export interface KeyRow {
  readonly id: string
  readonly user_id: string
  readonly name: string
  readonly digest: string
  readonly display: string
  readonly restricted: number
  readonly may_start: number
  readonly may_read: number
  readonly may_manage: number
  readonly user_management: number
  readonly created_at: number
  readonly expires_at: number | null
  readonly last_used_at: number | null
  readonly revoked_at: number | null
  readonly first_used_at: number | null
  /** JSON */
  readonly allowed_addresses: string
  /** digest of the secret before the last rotation, and until when it works */
  readonly previous_digest: string | null
  readonly previous_until: number | null
}

const permissionsOf = ({ may_manage, may_read, may_start }: KeyRow): ReadonlyArray<Permission> => {
  const may = { start: may_start, read: may_read, manage: may_manage }
  return PERMISSIONS.filter((each) => may[each] !== 0)
}

const permissionColumns = (permissions: ReadonlyArray<Permission>) => ({
  may_start: permissions.includes("start") ? 1 : 0,
  may_read: permissions.includes("read") ? 1 : 0,
  may_manage: permissions.includes("manage") ? 1 : 0,
})

/** The columns of the fields that are given. */
export const columnsOf = ({
  allowedAddresses,
  expiresAt,
  name,
  permissions,
  scope,
  userManagement,
}: KeyChange): Partial<KeyRow> => ({
  ...(name === undefined ? {} : { name: oneForm(name.trim()) }),
  ...(scope === undefined ? {} : { restricted: scope.type === "Restricted" ? 1 : 0 }),
  ...(permissions === undefined ? {} : permissionColumns(permissions)),
  ...(userManagement === undefined ? {} : { user_management: userManagement ? 1 : 0 }),
  ...(allowedAddresses === undefined ? {} : { allowed_addresses: JSON.stringify(cleanAddresses(allowedAddresses)) }),
  ...(expiresAt === undefined ? {} : { expires_at: expiresAt }),
})

/** The row of a new key. */
export const newRow = (
  own: Pick<KeyRow, "id" | "user_id" | "digest" | "display" | "created_at">,
  wanted: NewApiKey,
): KeyRow => ({
  ...own,
  name: wanted.name,
  restricted: 0,
  ...permissionColumns(PERMISSIONS),
  user_management: 0,
  expires_at: null,
  last_used_at: null,
  revoked_at: null,
  first_used_at: null,
  allowed_addresses: "[]",
  previous_digest: null,
  previous_until: null,
  ...columnsOf(wanted),
})

const addressesOf = ({ allowed_addresses }: KeyRow): ReadonlyArray<string> => JSON.parse(allowed_addresses)

/** The key of a row, without its secret. */
export const show = (row: KeyRow, businessIds: ReadonlyArray<string>): ApiKey => ({
  id: row.id,
  name: row.name,
  display: row.display,
  scope: row.restricted === 0 ? { type: "Unrestricted" } : { type: "Restricted", businessIds },
  permissions: permissionsOf(row),
  userManagement: row.user_management !== 0,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
  lastUsedAt: row.last_used_at,
  revokedAt: row.revoked_at,
  previousSecretUntil: row.previous_until,
  allowedAddresses: addressesOf(row),
})
