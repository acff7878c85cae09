"""A brain as an OCI image layout, and back: what leaves and enters in the form that other software reads
(WIRE 8 to 10)."""

from consilience.oci.export import export_brain
from consilience.oci.importing import import_brain, import_into
from consilience.oci.model import ExportReport, ImportReport, ModuleCount

__all__ = ["ExportReport", "ImportReport", "ModuleCount", "export_brain", "import_brain", "import_into"]
