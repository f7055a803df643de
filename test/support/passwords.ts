/** Passwords that cost little: a digest of the platform takes a third of a second of a core. */
import { Layer } from "effect"
import { PasswordCost } from "../../src/platform/users/Passwords.ts"

export const cheapPasswords = Layer.succeed(PasswordCost, { N: 16, r: 8, p: 1 })
