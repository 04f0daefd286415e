//! Reads the capabilities of a card on a conventional PCI or PCI-X bus. sysfs reports lanes of PCI Express only.
//! The registers (include/uapi/linux/pci_regs.h) have the capabilities of the card, but not the width or the clock
//! of its slot.

/// The number of bytes of the registers that any user may read; only root may read the capabilities beyond.
const HEADER_BYTES: usize = 64;
/// The position of the status (PCI_STATUS). Bits of it show that the card has a list of capabilities, and that it
/// can run at 66 MHz.
const STATUS: usize = 0x06;
const HAS_CAPABILITIES: u16 = 0x10;
const IS_66_MHZ: u16 = 0x20;
/// The position of the first capability's address (PCI_CAPABILITY_LIST).
const FIRST_CAPABILITY: usize = 0x34;
/// The number of the capability PCI-X (PCI_CAP_ID_PCIX). The constants below are the position of its status, and
/// the status bits of a 64-bit card and of its clock.
const PCI_X: u8 = 0x07;
const PCI_X_STATUS: usize = 4;
const IS_64_BITS: u32 = 0x0001_0000;
const CLOCKS: [(u32, u32); 3] = [(0x8000_0000, 533), (0x4000_0000, 266), (0x0002_0000, 133)];

/// Describes a card in words, from its registers.
pub fn card(registers: &[u8]) -> String {
    let short = |at: usize| Some(u16::from_le_bytes([*registers.get(at)?, *registers.get(at + 1)?]));
    let Some(status) = short(STATUS) else { return "whose registers can't be read".into() };
    if let Some(text) = pci_x(registers, status) {
        return text;
    }
    let clock = if status & IS_66_MHZ == 0 { 33 } else { 66 };
    let width = if registers.len() <= HEADER_BYTES && status & HAS_CAPABILITIES != 0 {
        "only root can read whether it has 64 bits"
    } else {
        "its registers do not show whether it has 32 or 64 bits"
    };
    format!("a conventional PCI card, {clock} MHz; {width}")
}

/// Describes a PCI-X card by its PCI-X capability; returns `None` if the card has none.
fn pci_x(registers: &[u8], status: u16) -> Option<String> {
    if status & HAS_CAPABILITIES == 0 {
        return None;
    }
    let mut at = usize::from(*registers.get(FIRST_CAPABILITY)?) & !3;
    // A circular list would be longer than the registers have room for.
    for _ in 0..registers.len() / 4 {
        let (id, next) = (*registers.get(at)?, *registers.get(at + 1)?);
        if at < HEADER_BYTES {
            return None;
        }
        if id == PCI_X {
            let place = at + PCI_X_STATUS;
            let bytes = registers.get(place..place + 4)?.try_into().ok()?;
            let status_bits = u32::from_le_bytes(bytes);
            let bits = if status_bits & IS_64_BITS == 0 { 32 } else { 64 };
            let clock = CLOCKS.iter().find(|(bit, _)| status_bits & bit != 0).map_or(66, |(_, clock)| *clock);
            return Some(format!("a PCI-X card, {bits} bits, up to {clock} MHz"));
        }
        at = usize::from(next) & !3;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns registers with capabilities at 0x40 (power management, 8 bytes) and at 0x48.
    fn registers(status: u16, second: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 256];
        bytes[STATUS..STATUS + 2].copy_from_slice(&status.to_le_bytes());
        bytes[FIRST_CAPABILITY] = 0x40;
        bytes[0x40..0x42].copy_from_slice(&[0x01, 0x48]);
        bytes[0x48..0x48 + second.len()].copy_from_slice(second);
        bytes
    }

    #[test]
    fn a_card_of_pci_x_tells_its_width_and_clock() {
        // These are the registers of Intel's 82545GM: 64 bits, 133 MHz.
        let wide = registers(0x0230, &[0x07, 0x00, 0x22, 0x00, 0x08, 0x00, 0x43, 0x04]);
        assert_eq!(card(&wide), "a PCI-X card, 64 bits, up to 133 MHz");
        let narrow = registers(0x0230, &[0x07, 0x00, 0x22, 0x00, 0x08, 0x00, 0x00, 0x00]);
        assert_eq!(card(&narrow), "a PCI-X card, 32 bits, up to 66 MHz");
    }

    #[test]
    fn a_card_of_conventional_pci_tells_no_width() {
        let plain = registers(0x0220, &[0x05, 0x00]);
        assert_eq!(
            card(&plain),
            "a conventional PCI card, 66 MHz; its registers do not show whether it has 32 or 64 bits"
        );
        let for_any_user = &registers(0x0210, &[0x07, 0, 0, 0, 0, 0, 1, 0])[..HEADER_BYTES];
        assert!(card(for_any_user).ends_with("33 MHz; only root can read whether it has 64 bits"));
        assert_eq!(card(&[]), "whose registers can't be read");
    }

    #[test]
    fn a_list_that_goes_round_ends() {
        let mut bytes = registers(0x0210, &[0x05, 0x40]);
        assert!(card(&bytes).starts_with("a conventional PCI card"));
        bytes[FIRST_CAPABILITY] = 0x08;
        assert!(card(&bytes).starts_with("a conventional PCI card"));
    }
}
