"""What people look at: pictures, tables and pages. Matplotlib is imported nowhere else."""
